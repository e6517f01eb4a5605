"""The soak test evaluates alarms as CloudWatch does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.soak.alarms import fired

MINUTE = 60_000
DEPTH = {
    "Statistic": "Maximum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "ComparisonOperator": "GreaterThanThreshold",
    "Threshold": 0,
}
MISSED = DEPTH | {
    "Statistic": "Sum",
    "Period": 300,
    "ComparisonOperator": "LessThanThreshold",
    "Threshold": 1,
    "TreatMissingData": "breaching",
}


@pytest.mark.parametrize(
    ("alarm", "points", "expected"),
    [
        (DEPTH, [(MINUTE, 0.0)], False),
        (DEPTH, [(MINUTE, 0.0), (MINUTE + 1, 1.0)], True),
        (DEPTH | {"Threshold": 1}, [(MINUTE, 1.0), (MINUTE + 1, 1.0)], False),
        (DEPTH | {"Threshold": 1, "Statistic": "Sum"}, [(MINUTE, 1.0), (MINUTE + 1, 1.0)], True),
        (DEPTH | {"EvaluationPeriods": 2}, [(MINUTE, 1.0)], False),
        (DEPTH | {"EvaluationPeriods": 2, "DatapointsToAlarm": 1}, [(MINUTE, 1.0)], True),
        (MISSED, [], True),
        (MISSED, [(0, 1.0), (5 * MINUTE, 1.0)], False),
        # The last period has not ended.
        (DEPTH, [(10 * MINUTE, 1.0)], False),
    ],
)
def test_alarm_fires_as_in_cloudwatch(alarm: dict[str, Any], points: list[Any], expected: bool) -> None:
    assert fired(alarm, points, 0, 10 * MINUTE + 1) == expected
