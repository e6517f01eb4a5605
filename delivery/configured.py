"""Finds a missing runner URL or missing alarm recipients in the template of a protected environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delivery.assembly import Stack

#: The placeholder for the runner's URL in infra/environments/list.ts.
PLACEHOLDER = "https://tasks.invalid/run"
_LIST = "infra/environments/list.ts"


@dataclass(frozen=True)
class Gap:
    """A setting that a protected environment requires."""

    found: str
    remedy: str


def gaps(stack: Stack) -> list[Gap]:
    """The settings that the stack lacks; empty for personal stacks and dev stacks."""
    if not stack.protected:
        return []
    resources = stack.template()["Resources"].values()
    found = []
    if any(PLACEHOLDER in json.dumps(each) for each in resources if each["Type"] == "AWS::Lambda::Function"):
        found.append(Gap(f"its runner has the placeholder {PLACEHOLDER}, so no task would run", f"set `runner` in {_LIST}"))
    silent = [each for each in resources if _is_silent(each)]
    if silent:
        remedy = f"set `alarmEmails` or `alarmTopicArn` in {_LIST}"
        found.append(Gap(f"{len(silent)} alarms have no recipient", remedy))
    return found


def _is_silent(resource: Mapping[str, Any]) -> bool:
    return resource["Type"] == "AWS::CloudWatch::Alarm" and not resource["Properties"].get("AlarmActions")
