"""Checks resources outside the stack: its event bus must exist, and a leftover ingest queue must not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from delivery.assembly import Stack
from delivery.configured import Gap


def bus_of(stack: Stack) -> str | None:
    for resource in stack.template()["Resources"].values():
        variables = resource.get("Properties", {}).get("Environment", {}).get("Variables", {})
        found = re.search(r"event-bus/([\w.-]+)", json.dumps(variables.get("EVENT_BUS_ARN", "")))
        if found:
            return found[1]
    return None


def missing_bus(name: str, events: Any) -> Gap | None:
    """A problem if the bus doesn't exist, because `count-shed` would then retry its stream batches for hours."""
    if _exists(lambda: events.describe_event_bus(Name=name), "ResourceNotFoundException"):
        return None
    return Gap(
        f"the event bus {name} does not exist in this account and region, so the reader of the stream would fail for hours",
        f"aws events create-event-bus --name {name}, or change `taskEventBus` in infra/environments/list.ts",
    )


def leftover_queue(stack: Stack, deployed: Mapping[str, Any], stack_id: str, sqs: Any) -> Gap | None:
    """A problem if a queue with a fixed name exists although the deployed template doesn't contain it."""
    guid = stack_id.rsplit("/", 1)[-1]
    for id_, resource in stack.template()["Resources"].items():
        prefix = _name_before_guid(resource)
        if prefix is None or id_ in deployed.get("Resources", {}):
            continue
        if _exists(lambda: sqs.get_queue_url(QueueName=f"{prefix}{guid}"), "QueueDoesNotExist"):
            return Gap(
                f"the queue {prefix}{guid} of an earlier deployment exists, so its creation would fail",
                "delete the queue if it is empty, or import it: docs/how-to/operate.md, "
                '"Failed deployments, and resources that stay"',
            )
    return None


def _name_before_guid(resource: Mapping[str, Any]) -> str | None:
    name = resource.get("Properties", {}).get("QueueName") if resource["Type"] == "AWS::SQS::Queue" else None
    parts = name.get("Fn::Join", ["", []])[1] if isinstance(name, dict) else []
    return parts[0] if parts and "AWS::StackId" in json.dumps(parts[1:]) else None


def _exists(look: Any, absent: str) -> bool:
    try:
        look()
    except ClientError as error:
        # SQS error codes have the prefix of the former protocol, for example AWS.SimpleQueueService.NonExistentQueue.
        code = error.response["Error"]["Code"]
        if code.endswith((absent, "NonExistentQueue")):
            return False
        raise
    return True
