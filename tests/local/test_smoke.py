"""The smoke test reports its results and removes its stacks."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.assembly import Assembly
from project.captured import captured
from project.paths import PROJECT
from smoke import __main__ as smoke
from smoke import place, stacks
from smoke.place import Place
from smoke.report import CheckFailed, Report, Skipped, expect
from smoke.settings import SettingChecks, same


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


def test_ctrl_c_is_not_a_failed_check() -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report().check("a", interrupted)


def test_error_names_a_manually_changed_setting_and_both_values() -> None:
    same("f: Timeout", 30, 30)
    with pytest.raises(CheckFailed, match="f: Timeout is 30, and 75 in the template"):
        same("f: Timeout", 30, 75)


NAMES = ["LifoQueue-dev-smoke", "AgentQueue-dev-smoke"]


class CloudFormation:
    """A CloudFormation client that knows the functions of each existing stack and records deletions."""

    def __init__(self, **present: list[str]) -> None:
        self.present = present
        self.deleted: list[str] = []

    def describe_stacks(self, StackName: str) -> None:
        if StackName not in self.present:
            error = {"Error": {"Code": "ValidationError", "Message": f"Stack {StackName} does not exist"}}
            raise ClientError(error, "DescribeStacks")

    def delete_stack(self, StackName: str) -> None:
        self.deleted.append(StackName)

    def get_paginator(self, _call: str) -> Any:
        def paginate(StackName: str) -> list[dict[str, Any]]:
            functions = [
                {"ResourceType": "AWS::Lambda::Function", "PhysicalResourceId": name} for name in self.present[StackName]
            ]
            return [{"StackResourceSummaries": [*functions, {"ResourceType": "AWS::SNS::Topic"}]}]

        return SimpleNamespace(paginate=paginate)

    def get_waiter(self, _name: str) -> Any:
        return SimpleNamespace(wait=lambda **_: None)


class Logs:
    """A CloudWatch Logs client with these log groups."""

    def __init__(self, *groups: str) -> None:
        self.groups = set(groups)

    def get_paginator(self, _call: str) -> Any:
        listed = [{"logGroups": [{"logGroupName": name} for name in self.groups]}]
        return SimpleNamespace(paginate=lambda: listed)

    def delete_log_group(self, logGroupName: str) -> None:
        self.groups.remove(logGroupName)


def account_with(cloudformation: CloudFormation, *functions: str, logs: Logs | None = None) -> Place:
    """An account with the stacks of `cloudformation` and functions with these names."""

    def client(service: str, endpoint_url: str | None) -> Any:
        if service == "cloudformation":
            return cloudformation
        if service == "logs":
            return logs or Logs()
        listed = [{"FunctionName": name} for name in functions] if service == "lambda" else []
        return SimpleNamespace(
            get_paginator=lambda _: SimpleNamespace(paginate=lambda: [{"Functions": listed}])
        )

    return Place(SimpleNamespace(client=client), None)  # type: ignore[arg-type]


def test_existing_stack_is_not_changed() -> None:
    account = account_with(CloudFormation(**{"AgentQueue-dev-smoke": []}))
    with pytest.raises(stacks.StackExists, match="AgentQueue-dev-smoke exists.*make destroy"):
        stacks.reject_existing(account, ["LifoQueue-dev-smoke", "AgentQueue-dev-smoke"])


def test_remaining_resource_fails_the_removal() -> None:
    cloudformation = CloudFormation(**{NAMES[0]: ["LifoQueue-dev-smoke-trigger"]})
    assert "removed LifoQueue-dev-smoke" in stacks.remove(account_with(cloudformation), NAMES)
    assert cloudformation.deleted == NAMES[:1]
    with pytest.raises(CheckFailed, match="left behind: lambda: LifoQueue-dev-smoke-trigger"):
        stacks.remove(account_with(cloudformation, "LifoQueue-dev-smoke-trigger"), NAMES)


def test_resources_of_a_stack_with_the_same_prefix_are_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stacks.time, "sleep", lambda _: None)
    own, other = "LifoQueue-dev-smoke-trigger", "LifoQueue-dev-smoketest-trigger"
    logs = Logs(f"/aws/lambda/{own}", f"/aws/lambda/{other}")
    account = account_with(CloudFormation(**{NAMES[0]: [own]}), other, logs=logs)
    assert "removed" in stacks.remove(account, NAMES)
    assert logs.groups == {f"/aws/lambda/{other}"}


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
    state: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def settings(_given: argparse.Namespace, made: Report) -> None:
        made.check("a", failing if state == "FAILED" else lambda: "fine")

    monkeypatch.setattr(smoke, "_settings", settings)
    assert smoke.main(["settings", "--environment", "staging"]) == code
    assert ("1 of 1 checks failed:\n  a: CheckFailed: not as promised\n" in capsys.readouterr().out) is (code == 1)


def test_an_alarm_in_alarm_state_or_with_disabled_actions_is_found() -> None:
    both = alarm_checks(alarm("a", "OK"), alarm("b", "ALARM"))
    assert both.firing(["a", "b"]) == (["b"], [])
    with pytest.raises(CheckFailed, match="removed manually: c"):
        both.firing(["a", "b", "c"])
    with pytest.raises(CheckFailed, match="disabled: a"):
        alarm_checks(alarm("a", "OK") | {"ActionsEnabled": False}).firing(["a"])


def test_alarm_that_fired_before_the_deployment_does_not_fail_the_check() -> None:
    began = datetime.now(timezone.utc)
    before = alarm("before", "ALARM", began - timedelta(seconds=1))
    assert alarm_checks(before, since=began).alarms() == "1 alarms; fired before the deployment: before"
    after = alarm("after", "ALARM", began + timedelta(seconds=1))
    assert alarm_checks(before, after, since=began).firing(["before", "after"]) == (["after"], ["before"])


def alarm(name: str, state: str, since: datetime = datetime.now(timezone.utc)) -> dict[str, Any]:
    return {"AlarmName": name, "StateValue": state, "ActionsEnabled": True, "StateTransitionedTimestamp": since}


def alarm_checks(*alarms: dict[str, Any], since: datetime | None = None) -> SettingChecks:
    """The checks of a stack on AWS with these alarms."""
    pages = SimpleNamespace(paginate=lambda **_: [{"MetricAlarms": list(alarms)}])
    stack = SimpleNamespace(
        stack="LifoQueue-staging",
        client=lambda _: SimpleNamespace(get_paginator=lambda _: pages),
        physical_id=lambda logical_id: logical_id,
    )
    resources = {alarm["AlarmName"]: {"Type": "AWS::CloudWatch::Alarm"} for alarm in alarms}
    template = Assembly(Path("cdk.out"), stack.stack, {"Resources": resources})
    aws = Place(SimpleNamespace(), None)  # type: ignore[arg-type]
    return SettingChecks(aws, stack, template, False, since)  # type: ignore[arg-type]


def test_smoke_settings_runs_without_rich() -> None:
    program = "import sys; sys.modules['rich'] = None; from smoke.__main__ import main; main(['settings', '--help'])"
    finished = captured([sys.executable, "-c", program], cwd=PROJECT)
    assert finished.returncode == 0, finished.stderr
