"""GitHub environments that branches other than main can use are rejected if GitHub responds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from delivery import protection, release_rules
from delivery.__main__ import main
from delivery.protection import Unprotected

PROTECTED = {"deployment_branch_policy": {"protected_branches": True, "custom_branch_policies": False}}
CUSTOM = {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}}
OPEN = {"deployment_branch_policy": None}


#: Script that responds like `gh api`, from one file per path.
GH = """#!/bin/sh
response="$RESPONSES/$(echo "${2#repos/octo/freshq/}" | tr / :)"
if [ "$1" != api ] || [ ! -f "$response" ]; then echo "gh: Not Found (HTTP 404)" >&2; exit 1; fi
if grep -q HTTP "$response"; then cat "$response" >&2; exit 1; fi
cat "$response"
"""


class GitHub:
    """GitHub's responses, by path below the repository; 404 for any other path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setitem__(self, path: str, response: Any) -> None:
        (self.folder / path.replace("/", ":")).write_text(response if isinstance(response, str) else json.dumps(response))


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("RESPONSES", str(tmp_path))
    return GitHub(tmp_path)


def check(*environments: str, repository: str = "octo/freshq") -> list[str]:
    said: list[str] = []
    protection.check(repository, "main", environments, said.append)
    return said


def rules(*branches: str) -> dict[str, Any]:
    return {"branch_policies": [{"name": branch} for branch in branches]}


def test_environments_for_main_or_for_protected_branches_are_accepted(github: GitHub) -> None:
    github["environments/staging"] = PROTECTED
    github["environments/prod"] = CUSTOM
    github["environments/prod/deployment-branch-policies"] = rules("main")
    assert check("staging", "prod") == []
    # The repository's name has the format of GitHub's tokens.
    assert check("staging", repository="octo@12/freshq@345") == []


def test_error_names_every_unprotected_environment_and_the_remedy(github: GitHub) -> None:
    github["environments/staging"] = OPEN
    github["environments/prod"] = CUSTOM
    github["environments/prod/deployment-branch-policies"] = rules("main", "release/*")
    with pytest.raises(Unprotected) as rejected:
        check("staging", "prod", "third")
    text = str(rejected.value)
    assert "the GitHub environment staging can be used from every branch" in text
    assert "the GitHub environment prod can be used from release/* too" in text
    assert "the GitHub environment third was not found" in text
    assert "Remedy: in Settings > Environments" in text


def test_unreadable_environment_is_named_but_not_rejected(github: GitHub) -> None:
    github["environments/prod"] = "gh: Resource not accessible by personal access token (HTTP 403)"
    [said] = check("prod")
    assert said.startswith("not checked: whether octo/freshq lets only main use the environment prod: gh: Resource not")


def test_without_gh_the_missing_check_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    [said] = check("prod")
    assert said.startswith("not checked: whether octo/freshq lets only main use the environment prod: gh is not installed.")


def test_the_command_fails_if_an_environment_is_unprotected(github: GitHub, capsys: pytest.CaptureFixture[str]) -> None:
    github["environments/prod"] = OPEN
    assert main(["protection", "--repository", "octo/freshq", "--environments", "prod"]) == 1
    assert "can be used from every branch" in capsys.readouterr().err


REVIEWED = {
    "deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True},
    "protection_rules": [{"type": "branch_policy"}, {"type": "required_reviewers", "reviewers": [{"type": "User"}]}],
}


def ruleset(*kinds: str, include: str = "refs/tags/v*", exclude: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "conditions": {"ref_name": {"include": [include], "exclude": list(exclude)}},
        "rules": [{"type": kind} for kind in kinds],
    }


@pytest.fixture
def releasing(github: GitHub) -> GitHub:
    """A repository whose rules require a review for a release of commit c1."""
    github["environments/npm"] = REVIEWED
    github["environments/npm/deployment-branch-policies"] = {"branch_policies": [{"type": "tag", "name": "v*"}]}
    github["rulesets?targets=tag&per_page=100"] = [{"id": 7, "enforcement": "active"}]
    github["rulesets/7"] = ruleset("creation", "update", "deletion")
    github["compare/main...c1"] = {"status": "behind"}
    return github


def test_release_with_reviewers_and_a_tag_ruleset_is_accepted(releasing: GitHub) -> None:
    release_rules.check("octo/freshq", "c1")
    releasing["rulesets/7"] = ruleset("creation", "update", "deletion", include="~ALL")
    release_rules.check("octo/freshq")


@pytest.mark.parametrize(
    ("path", "response", "problem"),
    [
        ("environments/npm", REVIEWED | {"protection_rules": []}, "npm has no required reviewers"),
        (
            "environments/npm",
            REVIEWED | {"protection_rules": [{"type": "required_reviewers", "reviewers": []}]},
            "npm has no required reviewers",
        ),
        ("environments/npm", REVIEWED | OPEN, "npm is not limited to the tags v*"),
        ("environments/npm", REVIEWED | PROTECTED, "npm is not limited to the tags v*"),
        (
            "environments/npm/deployment-branch-policies",
            {"branch_policies": [{"type": "tag", "name": "v*"}, {"type": "branch", "name": "v*"}]},
            "npm can be used from branch v* too",
        ),
        ("environments/npm", "gh: Not Found (HTTP 404)", "a rule cannot be read (gh: Not Found (HTTP 404))"),
        (
            "rulesets?targets=tag&per_page=100",
            [{"id": 7, "enforcement": "evaluate"}],
            "no active tag ruleset restricts creation, deletion, update of the tags v*",
        ),
        ("rulesets/7", ruleset("creation"), "no active tag ruleset restricts deletion, update"),
        ("rulesets/7", ruleset("creation", "update", "deletion", include="refs/tags/w*"), "restricts creation"),
        ("rulesets/7", ruleset("creation", "update", "deletion", exclude=("refs/tags/v9",)), "restricts creation"),
        ("compare/main...c1", {"status": "diverged"}, "the commit c1 is not part of main"),
        ("compare/main...c1", {"status": "ahead"}, "the commit c1 is not part of main"),
    ],
)
def test_release_that_a_tag_alone_could_publish_is_rejected(
    releasing: GitHub, path: str, response: Any, problem: str
) -> None:
    releasing[path] = response
    with pytest.raises(Unprotected) as rejected:
        release_rules.check("octo/freshq", "c1")
    assert problem in str(rejected.value)
    assert "Remedy: docs/internals/releasing.md" in str(rejected.value)
