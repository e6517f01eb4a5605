"""The workflows follow the rules that limit the permissions of a pull request. actionlint checks other rules."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from project.captured import captured
from project.paths import PROJECT
from tests.delivery.makefiles import MAKEFILES

GITHUB = PROJECT / ".github"
FILES = sorted([*GITHUB.glob("workflows/*.yml"), *GITHUB.glob("actions/*/action.yml")])
WORKFLOWS = [path for path in FILES if path.parent.name == "workflows"]
PIN = re.compile(r"uses: (?P<action>[\w./-]+)@(?P<sha>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)$")
#: The permissions of jobs that can do more than read the source: assume an AWS role, publish, or open an issue.
RIGHTS = {
    ("advisories.yml", "report"): {"issues": "write"},
    ("nightly.yml", "report"): {"issues": "write"},
    ("diff.yml", "deployed"): {"id-token": "write"},
    ("deploy.yml", "staging"): {"id-token": "write"},
    ("deploy.yml", "prod"): {"id-token": "write"},
    ("deploy-environment.yml", "deploy"): {"id-token": "write"},
    ("site.yml", "publish"): {"pages": "write", "id-token": "write"},
    # Reads the rules of the environment.
    ("release.yml", "protected"): {"actions": "read"},
    ("release.yml", "publish"): {"id-token": "write"},
    ("release.yml", "github"): {"contents": "write"},
}


def parsed(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text())


def jobs() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path.name, name, job) for path in WORKFLOWS for name, job in parsed(path)["jobs"].items()
    ]


def steps_of(file: Path) -> list[dict[str, Any]]:
    content = parsed(file)
    if "runs" in content:
        return content["runs"]["steps"]
    return [step for job in content["jobs"].values() for step in job.get("steps", [])]


def ids(value: Any) -> str:
    return value.name if isinstance(value, Path) else str(value)


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_every_action_is_pinned_by_its_commit_and_names_its_version(path: Path) -> None:
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    for line in used:
        assert PIN.match(line) or line.startswith("uses: ./.github/"), line


def test_an_action_has_one_pin_everywhere() -> None:
    pins: dict[str, set[tuple[str, str]]] = {}
    for match in (PIN.search(line) for path in FILES for line in path.read_text().splitlines()):
        if match is not None:
            pins.setdefault(match["action"], set()).add((match["sha"], match["version"]))
    assert len(pins) >= 6
    assert {action: found for action, found in pins.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=ids)
def test_a_workflow_grants_permissions_only_in_its_jobs(path: Path) -> None:
    assert parsed(path)["permissions"] == {}


@pytest.mark.parametrize(("file", "name", "job"), jobs(), ids=ids)
def test_a_job_has_least_privilege_permissions(file: str, name: str, job: dict[str, Any]) -> None:
    assert job["permissions"] == {"contents": "read"} | RIGHTS.get((file, name), {})


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_no_expression_becomes_part_of_a_script(path: Path) -> None:
    for step in steps_of(path):
        assert "${{" not in step.get("run", ""), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=ids)
def test_no_checkout_persists_its_credentials(path: Path) -> None:
    for step in steps_of(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_no_privileged_workflow_runs_for_a_fork() -> None:
    for path in WORKFLOWS:
        # YAML 1.1 interprets the key `on` as true.
        triggers = parsed(path)[True]
        assert not {"pull_request_target", "workflow_run"} & set(triggers)


def checkouts(file: str, job: str) -> list[str]:
    steps = parsed(GITHUB / "workflows" / file)["jobs"][job]["steps"]
    return [
        step["with"].get("ref", "the pull request")
        for step in steps
        if step.get("uses", "").startswith("actions/checkout@")
    ]


def test_privileged_jobs_do_not_run_pull_request_code() -> None:
    base = "${{ github.event.pull_request.base.sha }}"
    for job in ("deployed", "render"):
        assert checkouts("diff.yml", job) == [base]


def job_of(file: str, job: str) -> dict[str, Any]:
    return parsed(GITHUB / "workflows" / file)["jobs"][job]


def test_privileged_jobs_do_not_run_for_a_fork() -> None:
    condition = job_of("diff.yml", "deployed")["if"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in condition
    render = job_of("diff.yml", "render")
    assert (render["needs"], render.get("if")) == ("deployed", None), "skipped together with deployed"


def test_artifacts_of_a_pull_request_are_downloaded_outside_the_checkout_and_never_unpacked() -> None:
    for step in steps_of(GITHUB / "workflows" / "diff.yml"):
        if step.get("uses", "").startswith("actions/download-artifact@"):
            assert step["with"]["path"].startswith("${{ runner.temp }}/"), step
        assert not re.search(r"\b(tar|unzip)\b", step.get("run", "")), step


def test_a_pull_request_of_dependabot_is_not_compared() -> None:
    assert job_of("diff.yml", "synth")["if"] == "github.event.pull_request.user.login != 'dependabot[bot]'"


def setups(file: str, job: str) -> list[dict[str, str]]:
    used = [step for step in job_of(file, job)["steps"] if step.get("uses") == "./.github/actions/setup"]
    return [step.get("with", {}) for step in used]


def test_privileged_jobs_install_the_fewest_tools_and_restore_no_cache() -> None:
    assert setups("diff.yml", "deployed") == [{"tools": "aws", "cache": "false"}]
    assert setups("deploy-environment.yml", "deploy") == [{"tools": "deploy", "cache": "false"}]


def test_deployed_functions_are_not_built_from_a_restored_cache() -> None:
    assert setups("deploy.yml", "build") == [{"rust": "arm64", "cache": "false"}]


def test_a_release_is_built_without_caches_and_published_by_jobs_that_build_nothing() -> None:
    for job in ("functions", "verify-arm64", "cli", "pack", "test"):
        assert [each["cache"] for each in setups("release.yml", job)] == ["false"]
    for job in ("publish", "github"):
        assert setups("release.yml", job) == []
        runs = [step["run"] for step in job_of("release.yml", job)["steps"] if "run" in step]
        assert len(runs) == 1
        assert not re.search(r"\b(make|npm (ci|install)|pip|cargo)\b", runs[0])


def test_a_release_publishes_only_what_its_tests_installed() -> None:
    needs = {job: job_of("release.yml", job)["needs"] for job in ("pack", "test", "publish", "github")}
    assert needs == {
        "pack": ["verify-arm64", "cli"],
        "test": "pack",
        "publish": ["test", "protected"],
        "github": "publish",
    }
    cached = [step for step in steps_of(GITHUB / "actions" / "setup" / "action.yml") if "cache@" in step.get("uses", "")]
    assert ["inputs.cache == 'true'" in step["if"] for step in cached] == [True]


def test_a_release_is_published_only_if_githubs_rules_require_a_review() -> None:
    *_, check = job_of("release.yml", "protected")["steps"]
    assert check["run"] == 'python3 -m delivery.release_rules "$GITHUB_REPOSITORY" "$GITHUB_SHA"'
    assert "if" not in check and "continue-on-error" not in check
    # The job has no virtual environment.
    ran = captured(["python3", "-I", "-c", "import sys; sys.path.insert(0, '.'); import delivery.release_rules"], cwd=PROJECT)
    assert ran.returncode == 0, ran.stderr


def test_the_site_is_published_only_for_the_tag_of_its_version(tmp_path: Path) -> None:
    site = parsed(GITHUB / "workflows" / "site.yml")
    assert site[True] == {"push": {"tags": ["v*"]}}
    (compare,) = [step["run"] for step in job_of("site.yml", "build")["steps"] if step.get("name", "").startswith("compare")]
    (tmp_path / "package.json").write_text('{"version": "1.2.3"}')
    for tag, code in (("v1.2.3", 0), ("v1.2.4", 1)):
        environ = {"PATH": os.environ["PATH"], "GITHUB_REF_NAME": tag}
        ran = subprocess.run(["bash", "-e", "-c", compare], cwd=tmp_path, env=environ, capture_output=True, check=False)
        assert ran.returncode == code, tag


def test_only_main_is_deployed_and_only_after_ci() -> None:
    main = "github.ref == 'refs/heads/main'"
    jobs = parsed(GITHUB / "workflows" / "deploy.yml")["jobs"]
    assert {name: job["if"] for name, job in jobs.items()} == dict.fromkeys(jobs, main)
    assert job_of("deploy-environment.yml", "deploy")["if"] == main
    assert jobs["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "ci": None,
        "build": "ci",
        "staging": "build",
        "prod": "staging",
    }


def test_a_pending_approval_blocks_only_its_own_environment() -> None:
    assert "concurrency" not in parsed(GITHUB / "workflows" / "deploy.yml")
    assert job_of("deploy-environment.yml", "deploy")["concurrency"] == {
        "group": "deploy-${{ inputs.environment }}",
        "cancel-in-progress": False,
    }


@pytest.mark.parametrize(("newest", "code"), [("abc1", 0), ("def2", 1)])
def test_a_rerun_deploys_only_the_newest_commit_of_main(tmp_path: Path, newest: str, code: int) -> None:
    first, *_ = job_of("deploy-environment.yml", "deploy")["steps"]
    assert first["if"] == "github.run_attempt > 1", "the check precedes every step with rights"
    (tmp_path / "gh").write_text(f"#!/bin/sh\necho {newest}\n")
    (tmp_path / "gh").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_REPOSITORY": "octo/freshq", "GITHUB_SHA": "abc1"}
    ran = captured(["bash", "-e", "-c", first["run"]], env=environ)
    assert ran.returncode == code
    assert ("this re-run would deploy abc1" in ran.stdout) is (code == 1)


def test_every_supported_version_of_node_is_tested() -> None:
    assert job_of("ci.yml", "node")["strategy"]["matrix"]["node"] == [22, 24]
    assert parsed(GITHUB / "actions" / "setup" / "action.yml")["inputs"]["node"]["default"] == "24"


def test_a_deployment_does_not_fail_for_alarms_that_fired_before_it() -> None:
    steps = parsed(GITHUB / "workflows" / "deploy-environment.yml")["jobs"]["deploy"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    (began,) = [at for at, run in enumerate(runs) if run.startswith('echo "BEGAN=')]
    (deployed,) = [at for at, run in enumerate(runs) if run.startswith("make deploy-assembly ")]
    (smoke,) = [run for run in runs if run.startswith("make smoke ")]
    assert began < deployed
    assert 'SINCE="$BEGAN"' in smoke


def test_advisories_are_checked_daily_and_block_no_deployment() -> None:
    advisories = parsed(GITHUB / "workflows" / "advisories.yml")
    assert [list(trigger) for trigger in advisories[True]["schedule"]] == [["cron"]]
    assert [step["run"] for step in advisories["jobs"]["check"]["steps"] if "run" in step] == ["make advisories"]
    deploying = ("ci.yml", "deploy.yml", "deploy-environment.yml")
    runs = [step.get("run", "") for file in deploying for step in steps_of(GITHUB / "workflows" / file)]
    assert "make lint" in runs and "make advisories" not in runs
    lint = MAKEFILES.split("\nlint:")[1].split("\n\n")[0]
    assert "advisories" not in lint


def test_dependabot_updates_every_kind_of_dependency_in_one_pull_request() -> None:
    updates = parsed(GITHUB / "dependabot.yml")["updates"]
    kinds = [update["package-ecosystem"] for update in updates]
    assert kinds == ["cargo", "npm", "pip", "github-actions"]
    assert [list(update["groups"]) for update in updates] == [[kind] for kind in kinds]


def test_every_npm_lock_file_is_audited_and_updated() -> None:
    tracked = captured(["git", "ls-files", "--", "package-lock.json", "*/package-lock.json"], cwd=PROJECT).stdout.split()
    folders = [str(Path(file).parent) for file in tracked]
    assert len(folders) >= 3
    audit = re.search(r"for folder in (.+); do npm audit --audit-level=high --prefix \$\$folder \|\| exit 1; done", MAKEFILES)
    assert audit is not None and audit[1].split() == folders
    [npm] = [each for each in parsed(GITHUB / "dependabot.yml")["updates"] if each["package-ecosystem"] == "npm"]
    updated = [pattern.strip("/") or "." for pattern in npm["directories"]]
    assert [folder for folder in folders if not any(fnmatch(folder, pattern) for pattern in updated)] == []


def test_workflows_call_only_existing_make_verbs() -> None:
    called = {
        verb
        for path in FILES
        for step in steps_of(path)
        for verb in re.findall(r"\bmake (?:-C \S+ )?([a-z][a-z0-9-]+)", step.get("run", ""))
    }
    assert called >= {"test", "lint", "build", "verify-arm64", "deploy-assembly"}
    assert {verb for verb in called if not re.search(rf"^{verb}:", MAKEFILES, re.MULTILINE)} == set()
