"""The message for a connected device matches AWS's documentation of each part of the statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from local import iot_presence
from local.assembly import Assembly

NOW = 1_800_000_000_000
EVENT = {
    "clientId": "meter-7",
    "timestamp": NOW - 1_000,
    "sessionIdentifier": "a-session",
    "ipAddress": "192.0.2.7",
    "versionNumber": 12,
}


def template(*statements: str) -> Assembly:
    rules = {
        f"Rule{number}": {"Type": "AWS::IoT::TopicRule", "Properties": {"TopicRulePayload": {"Sql": statement}}}
        for number, statement in enumerate(statements)
    }
    return Assembly(Path("cdk.out"), "LifoQueue-dev", {"Resources": rules})


def test_a_connection_becomes_a_task_with_only_the_fields_of_its_event() -> None:
    assert iot_presence.message(EVENT, NOW) == {
        "key": "meter-7",
        "sequence": 499_999_000_012,
        "taskCreated": NOW - 1_000,
        "payload": {
            "clientId": "meter-7",
            "ipAddress": "192.0.2.7",
            "connectedAt": NOW - 1_000,
            "sessionIdentifier": "a-session",
            "versionNumber": 12,
        },
    }


def test_events_of_a_device_stay_in_order_after_its_count_restarts() -> None:
    hour = 3_600_000
    # Times can be off by two minutes. If the device is offline for about an hour, the count restarts.
    events = [(hour + 5_000, 7), (hour + 1_000, 8), (hour + 9_000, 9), (2 * hour + 5_000, 0)]
    made = [iot_presence.message(EVENT | {"timestamp": at, "versionNumber": n}, NOW) for at, n in events]
    sequences = [task["sequence"] for task in made]

    assert sequences == sorted(set(sequences))


def test_time_ahead_of_the_rules_clock_is_replaced_with_its_time() -> None:
    made = iot_presence.message(EVENT | {"timestamp": NOW + 120_000}, NOW)

    assert made["taskCreated"] == NOW
    assert made["payload"]["connectedAt"] == NOW + 120_000


def test_only_the_known_statement_is_accepted() -> None:
    iot_presence.check(template(iot_presence.STATEMENT))

    for other in (template(), template(iot_presence.STATEMENT.replace("key", "id")), template("", "")):
        with pytest.raises(iot_presence.OtherStatement, match="local/iot_presence.py"):
            iot_presence.check(other)
