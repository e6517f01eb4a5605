"""Checks that a pushed tag alone cannot publish a release. The workflow `release.yml` runs this before it publishes.

    python3 -m delivery.release_rules <owner/name> [<commit>]

A tag `v*` starts the workflow of the commit that it names, so a user who can push such a tag also chooses the workflow.
Only GitHub's rules prevent that user from publishing: reviewers of the environment, and a ruleset for the tags.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from delivery.protection import Unprotected, Unread, get

#: The environment of the job that publishes. npm trusts only this environment.
ENVIRONMENT = "npm"
BRANCH = "main"
TAGS = "v*"
#: Patterns of rulesets that match every release tag.
_COVERING = {"~ALL", "refs/tags/*", f"refs/tags/{TAGS}"}
#: Rules of a ruleset: only its bypass list may create, move or delete a tag.
_RULES = {"creation", "update", "deletion"}
_REMEDY = f"docs/internals/releasing.md describes the rules of the environment {ENVIRONMENT} and of the tags {TAGS}"


def check(repository: str, commit: str | None = None) -> None:
    """Raises `Unprotected` unless the environment has reviewers and accepts only release tags, a ruleset protects these
    tags, and the commit is part of the branch. Rules that cannot be read count as missing.
    """
    path = f"repos/{repository}"
    checks: list[Callable[[], Iterator[str]]] = [lambda: _environment(path), lambda: _tags(path)]
    if commit is not None:
        checks.append(lambda: _commit(path, commit))
    problems = [problem for each in checks for problem in _read(each)]
    if problems:
        raise Unprotected(f"{repository}: {'; '.join(problems)}. Remedy: {_REMEDY}")


def _read(problems: Callable[[], Iterator[str]]) -> list[str]:
    try:
        return list(problems())
    except Unread as error:
        return [f"a rule cannot be read ({error})"]


def _environment(path: str) -> Iterator[str]:
    environment = get(f"{path}/environments/{ENVIRONMENT}")
    rules = environment.get("protection_rules", [])
    if not any(rule["type"] == "required_reviewers" and rule["reviewers"] for rule in rules):
        yield f"the environment {ENVIRONMENT} has no required reviewers, so a tag publishes without an approval"
    policy = environment.get("deployment_branch_policy")
    if policy is None or not policy["custom_branch_policies"]:
        yield f"the environment {ENVIRONMENT} is not limited to the tags {TAGS}"
        return
    allowed = get(f"{path}/environments/{ENVIRONMENT}/deployment-branch-policies")["branch_policies"]
    others = sorted({f"{each['type']} {each['name']}" for each in allowed} - {f"tag {TAGS}"})
    if others:
        yield f"the environment {ENVIRONMENT} can be used from {', '.join(others)} too"


def _tags(path: str) -> Iterator[str]:
    listed = get(f"{path}/rulesets?targets=tag&per_page=100")
    active = [get(f"{path}/rulesets/{each['id']}") for each in listed if each["enforcement"] == "active"]
    protected = {rule["type"] for ruleset in active if _covers(ruleset) for rule in ruleset["rules"]}
    if missing := sorted(_RULES - protected):
        yield f"no active tag ruleset restricts {', '.join(missing)} of the tags {TAGS}"


def _covers(ruleset: dict[str, Any]) -> bool:
    names = ruleset["conditions"]["ref_name"]
    return not names["exclude"] and bool(_COVERING & set(names["include"]))


def _commit(path: str, commit: str) -> Iterator[str]:
    compared = get(f"{path}/compare/{BRANCH}...{commit}")["status"]
    if compared not in ("behind", "identical"):
        yield f"the commit {commit} is not part of {BRANCH}, which requires a review"


if __name__ == "__main__":
    try:
        check(*sys.argv[1:3])
    except Unprotected as error:
        sys.exit(str(error))
