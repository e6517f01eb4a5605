"""A make verb accepts only the variables that its help names, and only from the command line."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from project.captured import captured
from project.paths import PROJECT
from tests.delivery.makefiles import MAKEFILES

#: The verbs that `make help` lists, each with its bracketed variables.
VERBS = {
    verb: (variables or "").split()
    for verb, variables in re.findall(r"^([a-z][a-z0-9-]*):.* ## [^\[\n]*(?:\[(.*)\])?$", MAKEFILES, re.MULTILINE)
}


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs make as if from a shell, even if `make test` started this test."""
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return captured(["make", *arguments], cwd=PROJECT, env=outside | environment)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["console", "QUEUE=agent-queue"], "make console does not take QUEUE. It takes: ENV NAME LOCAL CHANGES PORT."),
        (["lint", "ENV=dev", "NAME=a", "IOT=1"], "make lint does not take IOT NAME. It takes: ENV."),
        (["test", "N=3"], "make test does not take N. It takes: no variables."),
        (["deploy", "EVN=prod"], "make deploy does not take EVN. It takes: ENV NAME QUEUE LOCAL YES IOT UNRELIABLE."),
        (["invoke", "F=trigger"], "make invoke needs EVENT. It takes: F= EVENT=."),
        (["deploy-assembly", "ASSEMBLY="], "make deploy-assembly needs ASSEMBLY."),
        (["deploy", "YES=yes"], "YES=yes is not a choice: write YES=1, or omit it."),
        (["test-package", "DEPLOY=aws"], "DEPLOY=aws is not a choice: write DEPLOY=local, or omit it."),
        (["deploy", "QUEUE=task-queue"], "QUEUE=task-queue is not a queue: choose lifo-queue or agent-queue."),
        (["console", "LOCAL=1", "ENV=prod"], "LOCAL=1 is for ENV=dev."),
    ],
)
def test_a_variable_that_a_verb_cannot_use_is_rejected_before_anything_runs(
    arguments: list[str], message: str
) -> None:
    finished = make(*arguments)

    assert finished.returncode == 2
    assert message in finished.stderr
    assert finished.stdout == ""


def test_environment_variables_are_ignored() -> None:
    finished = make("--dry-run", "console", ENV="prod", NAME="host", QUEUE="none", LOCAL="yes", PORT="x", IOT="maybe")

    assert finished.returncode == 0, finished.stderr
    assert re.search(r"freshq console --env dev +\$\{PORT", finished.stdout, re.MULTILINE)


def test_the_switch_for_the_end_to_end_tests_is_also_read_from_the_environment() -> None:
    for finished in (make("--dry-run", "flaky", "E2E=1"), make("--dry-run", "flaky", E2E="1")):
        assert finished.returncode == 0, finished.stderr
        assert "-m tests.flaky 20" in finished.stdout
        assert "--stress-count" not in finished.stdout


def test_make_accepts_its_own_variables_and_those_of_the_tools() -> None:
    finished = make("--dry-run", "console", "ENV=staging", "NAME=alice", "PORT=8080", "AWS_REGION=eu-central-1")

    assert finished.returncode == 0, finished.stderr
    assert "freshq console --env staging-alice" in finished.stdout


def test_help_lists_the_groups_in_order_and_the_variables_of_each_verb() -> None:
    shown = make("help").stdout

    groups = re.findall(r"^(Use|Operate|Check|Release|Maintain)\b", shown, re.MULTILINE)
    assert groups == ["Use", "Operate", "Check", "Release", "Maintain"]
    assert set(re.findall(r"^  make ([a-z0-9-]+) ", shown, re.MULTILINE)) == set(VERBS)
    assert re.search(r"^  make console +serve .* \[ENV NAME LOCAL CHANGES PORT\]$", shown, re.MULTILINE)


def test_each_variable_in_brackets_is_ignored_in_the_environment() -> None:
    [options] = re.findall(r"^OPTIONS := ((?:.*\\\n)*.*)$", MAKEFILES, re.MULTILINE)
    [switches] = re.findall(r"^SWITCHES := (.*)$", MAKEFILES, re.MULTILINE)
    declared = {*options.replace("\\", "").split(), *switches.split()}

    used = {name.rstrip("=") for names in VERBS.values() for name in names}
    assert len(VERBS) > 40
    assert used == declared - {"$(SWITCHES)"}


def test_the_workflows_give_each_verb_only_variables_that_it_takes() -> None:
    calls = [
        (verb, set(re.findall(r"\b([A-Z_]+)=", rest)))
        for path in (PROJECT / ".github" / "workflows").glob("*.yml")
        for verb, rest in re.findall(
            r"\bmake (?:-C \S+ )?([a-z][a-z0-9-]+)((?: (?:\\\n *)?[A-Z_]+=(?:\"[^\"]*\"|\S+))*)", path.read_text()
        )
    ]

    assert sum(len(variables) for _, variables in calls) > 10
    for verb, variables in calls:
        own = {name for name in variables if not name.startswith("FRESHQ_")}
        assert own <= {name.rstrip("=") for name in VERBS.get(verb, [])}, verb
