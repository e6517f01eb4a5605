"""The emulator patch for metric math alarms."""

from __future__ import annotations

import pytest
from ministack.services.cloudformation import provisioners

from local import alarms

SETTINGS = {"ComparisonOperator": "GreaterThanThreshold", "Threshold": 0, "EvaluationPeriods": 1}
MATH = SETTINGS | {
    "Metrics": [
        {"Id": "expr_1", "Expression": "FILL(m0,0)+FILL(m1,0)"},
        {"Id": "m0", "MetricStat": {"Stat": "Sum"}, "ReturnData": False},
        {"Id": "m1", "MetricStat": {"Stat": "Sum"}, "ReturnData": "false"},
    ]
}


def test_alarm_on_metric_math_is_recorded_under_its_expression() -> None:
    record = alarms.with_metric_math(provisioners._cw_metric_alarm_record)
    recorded = record("name", MATH)
    assert recorded["MetricName"] == "FILL(m0,0)+FILL(m1,0)"
    assert recorded["StateValue"] == "INSUFFICIENT_DATA"


def test_other_alarms_are_recorded_as_before() -> None:
    record = provisioners._cw_metric_alarm_record
    plain = SETTINGS | {"Namespace": "freshq", "MetricName": "Sweeps"}
    then, now = record("name", plain), alarms.with_metric_math(record)("name", plain)
    assert now["MetricName"] == then["MetricName"] == "Sweeps"


def test_emulator_alone_rejects_metric_math() -> None:
    """If this test fails, the emulator supports metric math, and `local.alarms` can be deleted."""
    with pytest.raises(ValueError, match="not supported"):
        provisioners._cw_metric_alarm_record("name", MATH)
