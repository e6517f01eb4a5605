"""The alarms that roll back a deployment, as CloudFormation rollback triggers.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-rollback-triggers.html: CloudFormation monitors up
to five alarms during a deployment and for some minutes after it. If one of them fires, it rolls back the whole deployment.
A trigger that doesn't exist fails the deployment, so only alarms that are already deployed are monitored. An alarm that
fires before the deployment would roll back the change that fixes it, so it isn't monitored, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from delivery.assembly import Stack

#: Template metadata key that lists the alarms, written by infra/environments/rollback.ts.
METADATA = "freshq:rollback"

#: Creates a client for a service in a region; `None` means the current region.
Clients = Callable[[str, str | None], Any]


class AlarmsUnknown(RuntimeError):
    """Raised if the deployed alarms can't be read. The message contains the reason."""


@dataclass(frozen=True)
class Watch:
    arns: list[str]
    minutes: int
    notes: list[str] = field(default_factory=list)

    def arguments(self) -> list[str]:
        """The options for `cdk deploy`. Without alarms, they clear the alarms of an earlier deployment."""
        if not self.arns:
            return ["--rollback-trigger-alarm-arns", "none"]
        return [
            "--rollback-trigger-alarm-arns",
            *self.arns,
            "--monitoring-time-minutes",
            str(self.minutes),
        ]


def watch(stack: Stack, client_of: Clients) -> Watch:
    """The alarms to monitor while `stack` is deployed. Raises `AlarmsUnknown`."""
    wanted = stack.template().get("Metadata", {}).get(METADATA)
    if wanted is None:
        return Watch([], 0, ["its template names no alarms that roll it back"])
    try:
        names = _deployed(client_of("cloudformation", stack.region), stack.name, wanted["alarms"])
        if not names:
            return Watch([], 0, ["none of its alarms is deployed yet: no alarm rolls this deployment back"])
        alarms = client_of("cloudwatch", stack.region).describe_alarms(
            AlarmNames=sorted(names), AlarmTypes=["MetricAlarm"]
        )["MetricAlarms"]
    except (BotoCoreError, ClientError) as error:
        raise AlarmsUnknown(f"the alarms of {stack.name} cannot be read: {error}") from error
    ringing = sorted(alarm["AlarmName"] for alarm in alarms if alarm["StateValue"] == "ALARM")
    return Watch(
        [alarm["AlarmArn"] for alarm in alarms if alarm["StateValue"] != "ALARM"],
        wanted["minutes"],
        [f"{name} is in ALARM already, so it is not monitored" for name in ringing],
    )


def _deployed(client: Any, stack: str, logical_ids: list[str]) -> list[str]:
    """The names of the alarms that are already deployed."""
    try:
        pages = list(client.get_paginator("list_stack_resources").paginate(StackName=stack))
    except ClientError as error:
        if "does not exist" in str(error):
            return []
        raise
    return [
        resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
        if resource["LogicalResourceId"] in logical_ids and resource.get("PhysicalResourceId")
    ]
