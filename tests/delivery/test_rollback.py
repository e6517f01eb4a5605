"""The alarms that roll back a deployment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from delivery import rollback
from delivery.assembly import Stack
from project.paths import PROJECT


class CloudFormation:
    """A CloudFormation client with two deployed alarms and one function."""

    def __init__(self, error: str = "") -> None:
        self.error = error

    def get_paginator(self, operation: str) -> CloudFormation:
        assert operation == "list_stack_resources"
        return self

    def paginate(self, StackName: str) -> list[dict[str, Any]]:  # noqa: N803
        if self.error:
            raise ClientError({"Error": {"Code": "X", "Message": self.error}}, "ListStackResources")
        ids = {"stalled": "alarm-1", "failures": "alarm-2", "fn": "function-1"}
        summaries = [{"LogicalResourceId": k, "PhysicalResourceId": v} for k, v in ids.items()]
        return [{"StackResourceSummaries": summaries[:1]}, {"StackResourceSummaries": summaries[1:]}]


class CloudWatch:
    """A CloudWatch client that returns the state of each requested alarm, OK by default."""

    def __init__(self, **states: str) -> None:
        self.states = states

    def describe_alarms(self, AlarmNames: list[str], AlarmTypes: list[str]) -> dict[str, Any]:  # noqa: N803
        assert AlarmTypes == ["MetricAlarm"]
        return {
            "MetricAlarms": [
                {
                    "AlarmName": name,
                    "AlarmArn": f"arn:{name}",
                    "StateValue": self.states.get(name.replace("-", "_"), "OK"),
                }
                for name in AlarmNames
            ]
        }


def stack(folder: Path, *alarms: str) -> Stack:
    metadata = {rollback.METADATA: {"alarms": list(alarms), "minutes": 5}} if alarms else {}
    template = {"Resources": {}, "Metadata": metadata}
    (folder / "S.template.json").write_text(json.dumps(template))
    return Stack(folder, "S", "eu-west-1")


def watch(given: Stack, cloudformation: CloudFormation, cloudwatch: CloudWatch) -> rollback.Watch:
    def client_of(service: str, region: str | None) -> Any:
        assert region == "eu-west-1"
        return {"cloudformation": cloudformation, "cloudwatch": cloudwatch}[service]

    return rollback.watch(given, client_of)


def test_deployed_alarms_are_watched(tmp_path: Path) -> None:
    found = watch(stack(tmp_path, "stalled", "failures", "new"), CloudFormation(), CloudWatch())
    assert found.arguments() == [
        "--rollback-trigger-alarm-arns",
        "arn:alarm-1",
        "arn:alarm-2",
        "--monitoring-time-minutes",
        "5",
    ]
    assert found.notes == []


def test_an_alarm_already_in_alarm_state_is_not_watched(tmp_path: Path) -> None:
    found = watch(
        stack(tmp_path, "stalled", "failures"), CloudFormation(), CloudWatch(alarm_1="ALARM")
    )
    assert found.arns == ["arn:alarm-2"]
    assert found.notes == ["alarm-1 is in ALARM already, so it is not monitored"]


@pytest.mark.parametrize(
    ("alarms", "error", "says"),
    [
        ([], "", "names no alarms"),
        (["new"], "", "none of its alarms is deployed yet"),
        (["stalled"], "Stack with id S does not exist", "none of its alarms is deployed yet"),
    ],
)
def test_without_alarms_the_earlier_alarms_are_cleared(
    tmp_path: Path, alarms: list[str], error: str, says: str
) -> None:
    found = watch(stack(tmp_path, *alarms), CloudFormation(error), CloudWatch())
    assert found.arguments() == ["--rollback-trigger-alarm-arns", "none"]
    assert says in found.notes[0]


def test_unreadable_alarms_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(rollback.AlarmsUnknown, match="the alarms of S cannot be read"):
        watch(stack(tmp_path, "stalled"), CloudFormation("access denied"), CloudWatch())


def test_the_template_has_the_same_metadata_key() -> None:
    assert f"'{rollback.METADATA}'" in (PROJECT / "infra" / "environments" / "rollback.ts").read_text()
