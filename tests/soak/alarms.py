"""Evaluates a template's alarms on the local AWS's data: log lines, queue depths, and function errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from local.assembly import Assembly
from local.contract import FUNCTIONS
from local.queue import DeployedQueue
from local.waiting import now_ms

#: A time in milliseconds and the metric's value at this time.
Point = tuple[int, float]

_STATISTICS: dict[str, Callable[[list[float]], float]] = {"Sum": sum, "Maximum": max, "Minimum": min}
_BREACHES = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}


def fired(alarm: dict[str, Any], points: Iterable[Point], began_ms: int, ended_ms: int) -> bool:
    """Whether an alarm with these properties was in ALARM at any time. Only complete periods count."""
    period = 1000 * alarm["Period"]
    windows: dict[int, list[float]] = {}
    for at, value in points:
        windows.setdefault((at - began_ms) // period, []).append(value)
    breaches = []
    for window in range((ended_ms - began_ms) // period):
        if values := windows.get(window):
            value = _STATISTICS[alarm["Statistic"]](values)
            breaches.append(_BREACHES[alarm["ComparisonOperator"]](value, alarm["Threshold"]))
        else:
            breaches.append(alarm.get("TreatMissingData") == "breaching")
    of = alarm["EvaluationPeriods"]
    wanted = alarm.get("DatapointsToAlarm", of)
    return any(sum(breaches[first : first + of]) >= wanted for first in range(len(breaches) - of + 1))


def sums(queue: DeployedQueue, metric: str, function: str, since_ms: int) -> list[Point]:
    """The sums per minute of a function's metric."""
    found = queue.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/Lambda",
        MetricName=metric,
        Dimensions=[{"Name": "FunctionName", "Value": function}],
        StartTime=since_ms / 1000,
        EndTime=now_ms() / 1000 + 60,
        Period=60,
        Statistics=["Sum"],
    )
    return [(int(1000 * point["Timestamp"].timestamp()), point["Sum"]) for point in found["Datapoints"]]


@dataclass
class Watch:
    """Evaluates the alarms of a deployed task queue since `began_ms`. `look` reads the depths of the stack's queues."""

    queue: DeployedQueue
    template: Assembly
    began_ms: int
    _deep: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Records the alarms on queues that currently have more messages than the alarm's threshold."""
        sqs = self.queue.client("sqs")
        for name, alarm in self._alarms("AWS/SQS", "ApproximateNumberOfMessagesVisible"):
            (dimension,) = alarm["Dimensions"]
            url = self.queue.physical_id(dimension["Value"]["Fn::GetAtt"][0])
            attribute = "ApproximateNumberOfMessages"
            depth = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[attribute])["Attributes"][attribute]
            if int(depth) > alarm["Threshold"]:
                self._deep.add(name)

    def fired(self, ended_ms: int) -> set[str]:
        """The alarms that fired on queues, on metrics from log lines, or on function errors."""
        points = self._points()
        watched = [(name, alarm, points.get(alarm["MetricName"], [])) for name, alarm in self._alarms("freshq")]
        for name, alarm in self._alarms("AWS/Lambda", "Errors"):
            (dimension,) = alarm["Dimensions"]
            function = self.queue.physical_id(dimension["Value"]["Ref"])
            watched.append((name, alarm, sums(self.queue, "Errors", function, self.began_ms)))
        return self._deep | {
            name for name, alarm, values in watched if fired(alarm, values, self.began_ms, ended_ms)
        }

    def _alarms(self, namespace: str, *metrics: str) -> Iterable[tuple[str, dict[str, Any]]]:
        for resource in self.template.resources("AWS::CloudWatch::Alarm"):
            alarm = resource.properties
            if alarm.get("Namespace") == namespace and (not metrics or alarm["MetricName"] in metrics):
                # Names the alarm by its construct id, as docs/reference/alarms.md does.
                yield resource.attributes["Metadata"]["aws:cdk:path"].split("/")[-2].removesuffix("-alarm"), alarm

    def _points(self) -> dict[str, list[Point]]:
        points: dict[str, list[Point]] = {}
        for binary in FUNCTIONS:
            for line in self.queue.log_messages(binary, self.began_ms):
                for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
                    for metric in directive["Metrics"]:
                        value = (line["_aws"]["Timestamp"], float(line[metric["Name"]]))
                        points.setdefault(metric["Name"], []).append(value)
        return points
