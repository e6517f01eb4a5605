"""Metric math alarms for the emulator, whose CloudFormation rejects them.

The emulator stores such an alarm with its expression but never evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.services.cloudformation import provisioners

Record = Callable[[str, dict[str, Any]], dict[str, Any]]


def install() -> None:
    provisioners._cw_metric_alarm_record = with_metric_math(provisioners._cw_metric_alarm_record)


def with_metric_math(record: Record) -> Record:
    """Wraps `record` so that it also accepts the properties of a metric math alarm."""

    def recorded(name: str, properties: dict[str, Any]) -> dict[str, Any]:
        metrics = properties.get("Metrics")
        if not metrics:
            return record(name, properties)
        # An alarm evaluates exactly one of its queries: the one whose ReturnData is true, which is the default.
        [query] = [each for each in metrics if str(each.get("ReturnData", True)).lower() == "true"]
        plain = {key: value for key, value in properties.items() if key != "Metrics"}
        return record(name, plain | {"Namespace": "metric math", "MetricName": query["Expression"]})

    return recorded
