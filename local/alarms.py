"""What the emulator lacks of CloudWatch alarms: CloudFormation rejects one on metric math there.

The emulator publishes no metrics that an alarm of this project watches, so such an alarm is only recorded: under its
expression, and without data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.services.cloudformation import provisioners

Record = Callable[[str, dict[str, Any]], dict[str, Any]]


def install() -> None:
    """Change ministack, which this process is about to be."""
    provisioners._cw_metric_alarm_record = with_metric_math(provisioners._cw_metric_alarm_record)


def with_metric_math(record: Record) -> Record:
    """`record`, which then takes the properties of an alarm on metric math too."""

    def recorded(name: str, properties: dict[str, Any]) -> dict[str, Any]:
        metrics = properties.get("Metrics")
        if not metrics:
            return record(name, properties)
        # CloudFormation returns the data of one query, unless it says otherwise.
        [query] = [each for each in metrics if str(each.get("ReturnData", True)).lower() == "true"]
        plain = {key: value for key, value in properties.items() if key != "Metrics"}
        return record(name, plain | {"Namespace": "metric math", "MetricName": query["Expression"]})

    return recorded
