"""The parts of the smoke test: its results, and the removal of its stacks."""

from __future__ import annotations

import argparse
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from rich.console import Console

from local.paths import PROJECT
from smoke import __main__ as smoke
from smoke import place, stacks, table
from smoke.place import Place
from smoke.report import CheckFailed, Report, Skipped, expect
from smoke.settings import SettingChecks, same
from smoke.tasks import displacement


def report() -> Report:
    return Report(lambda _: None)


def failing() -> str:
    expect(False, "not as promised")
    return "never"


def skipping() -> str:
    raise Skipped("only on AWS")


def test_a_failed_check_does_not_stop_the_next_one() -> None:
    made = report()
    assert [made.check("a", failing), made.check("b", lambda: "fine"), made.check("c", skipping)] == [
        False,
        True,
        True,
    ]
    states = [(result.name, result.state, result.note) for result in made.results]
    assert states == [
        ("a", "FAILED", "CheckFailed: not as promised"),
        ("b", "ok", "fine"),
        ("c", "skipped", "only on AWS"),
    ]
    assert [result.name for result in made.failed] == ["a"]


def test_the_table_shows_each_result_with_its_duration() -> None:
    made = report()
    made.check("a", failing)
    made.check("c", skipping)
    console = Console(record=True, file=io.StringIO())
    table.show(made.results, console)
    shown = console.export_text()
    assert "not as promised" in shown and "only on AWS" in shown and "0.0" in shown


def test_ctrl_c_is_not_a_failed_check() -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report().check("a", interrupted)


def test_displacement_is_the_largest_distance_of_a_task_from_its_place() -> None:
    assert displacement("abcd", "abcd") == 0
    assert displacement("abcd", "bacd") == 1
    assert displacement("abcd", "dabc") == 3
    assert displacement("", "") == 0


def test_a_setting_that_was_changed_by_hand_is_named_with_both_values() -> None:
    same("f: Timeout", 30, 30)
    with pytest.raises(CheckFailed, match="f: Timeout is 30, and 75 in the template"):
        same("f: Timeout", 30, 75)


class CloudFormation:
    """A CloudFormation client that knows which stacks exist, and records deletions."""

    def __init__(self, *present: str) -> None:
        self.present = set(present)
        self.deleted: list[str] = []

    def describe_stacks(self, StackName: str) -> None:
        if StackName not in self.present:
            error = {"Error": {"Code": "ValidationError", "Message": f"Stack {StackName} does not exist"}}
            raise ClientError(error, "DescribeStacks")

    def delete_stack(self, StackName: str) -> None:
        self.deleted.append(StackName)

    def get_waiter(self, _name: str) -> Any:
        return SimpleNamespace(wait=lambda **_: None)


def account_with(cloudformation: CloudFormation, *functions: str) -> Place:
    """An account with the stacks of `cloudformation`, and functions of these names."""

    def client(service: str, endpoint_url: str | None) -> Any:
        if service == "cloudformation":
            return cloudformation
        listed = [{"FunctionName": name} for name in functions] if service == "lambda" else []
        return SimpleNamespace(
            get_paginator=lambda _: SimpleNamespace(paginate=lambda: [{"Functions": listed}])
        )

    return Place(SimpleNamespace(client=client), None)  # type: ignore[arg-type]


def test_a_stack_that_exists_is_not_touched() -> None:
    account = account_with(CloudFormation("AgentQueue-dev-smoke"))
    with pytest.raises(stacks.StackExists, match="AgentQueue-dev-smoke exists.*make destroy"):
        stacks.refuse_existing(account, ["LifoQueue-dev-smoke", "AgentQueue-dev-smoke"])


def test_a_resource_that_is_left_behind_is_a_failure() -> None:
    names = ["LifoQueue-dev-smoke", "AgentQueue-dev-smoke"]
    cloudformation = CloudFormation(names[0])
    assert "removed LifoQueue-dev-smoke" in stacks.remove(account_with(cloudformation, "LifoQueue-dev-f"), names)
    assert cloudformation.deleted == names[:1]
    with pytest.raises(CheckFailed, match="left behind: lambda: LifoQueue-dev-smoke-trigger"):
        stacks.remove(account_with(CloudFormation(), "LifoQueue-dev-smoke-trigger"), names)


@pytest.mark.parametrize("broken", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_the_stacks_are_removed_after_any_error(
    broken: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[list[str]] = []

    def remove(_place: Place, names: list[str]) -> str:
        # A second Ctrl-C must not end the removal.
        os.kill(os.getpid(), signal.SIGINT)
        removed.append(names)
        return "removed"

    def deploy(*_: object) -> None:
        raise broken("in the middle")

    where = account_with(CloudFormation())
    monkeypatch.setattr(place, "real_aws", lambda: where)
    monkeypatch.setattr(stacks, "remove", remove)
    monkeypatch.setattr(stacks, "deploy_stack", deploy)
    monkeypatch.setattr(smoke, "_check_settings", lambda *_: None)
    given = argparse.Namespace(
        environment="dev", name="mine", local=False, assembly=Path("none"), freshq=Path("none")
    )
    made = report()
    if broken is RuntimeError:
        smoke._run(given, made)
        assert [result.name for result in made.failed] == ["deploy LifoQueue-dev-mine", "deploy AgentQueue-dev-mine"]
    else:
        with pytest.raises(broken):
            smoke._run(given, made)
    assert removed == [["LifoQueue-dev-mine", "AgentQueue-dev-mine"]]
    assert made.results[-1].name == "everything is removed"


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("FAILED", 1)])
def test_the_exit_code_says_whether_a_check_failed(
    state: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settings(_given: argparse.Namespace, made: Report) -> None:
        made.check("a", failing if state == "FAILED" else lambda: "fine")

    monkeypatch.setattr(smoke, "_settings", settings)
    assert smoke.main(["settings", "--environment", "staging"]) == code


def test_an_alarm_in_alarm_state_or_with_disabled_actions_is_found() -> None:
    def alarm(name: str, state: str, on: bool) -> dict[str, Any]:
        return {"AlarmName": name, "StateValue": state, "ActionsEnabled": on}

    def checks(*alarms: dict[str, Any]) -> SettingChecks:
        pages = SimpleNamespace(paginate=lambda **_: [{"MetricAlarms": list(alarms)}])
        stack = SimpleNamespace(client=lambda _: SimpleNamespace(get_paginator=lambda _: pages))
        return SettingChecks(None, stack, None, False)  # type: ignore[arg-type]

    both = checks(alarm("a", "OK", True), alarm("b", "ALARM", True))
    assert both.ringing(["a", "b"]) == ["b"]
    with pytest.raises(CheckFailed, match="removed by hand: c"):
        both.ringing(["a", "b", "c"])
    with pytest.raises(CheckFailed, match="switched off: a"):
        checks(alarm("a", "OK", False)).ringing(["a"])


def test_smoke_settings_runs_without_rich() -> None:
    program = "import sys; sys.modules['rich'] = None; from smoke.__main__ import main; main(['settings', '--help'])"
    finished = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
