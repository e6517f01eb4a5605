"""The evaluation of the IoT rule's statement, against what AWS documents for each part."""

from __future__ import annotations

import pytest

from local.iot_rule import Rule, UnknownStatement
from local.waiting import now_ms

PRESENCE = (
    "SELECT clientId AS key, floor(timestamp / 3600000) * 1000000 + versionNumber AS sequence,"
    " CASE timestamp > timestamp() WHEN true THEN timestamp() ELSE timestamp END AS taskCreated,"
    " {'clientId': clientId, 'ipAddress': ipAddress, 'connectedAt': timestamp} AS payload"
    " FROM '$aws/events/presence/connected/#'"
)


def test_a_connection_becomes_a_task() -> None:
    rule = Rule(PRESENCE)
    assert rule.topic == "$aws/events/presence/connected/#"
    event = {
        "clientId": "meter-7",
        "timestamp": 1_800_000_000,
        "sessionIdentifier": "a-session",
        "ipAddress": "192.0.2.7",
        "versionNumber": 12,
    }
    assert rule.apply(event) == {
        "key": "meter-7",
        "sequence": 500_000_012,
        "taskCreated": 1_800_000_000,
        "payload": {"clientId": "meter-7", "ipAddress": "192.0.2.7", "connectedAt": 1_800_000_000},
    }


def test_a_device_s_events_are_in_order_though_its_count_starts_again() -> None:
    rule = Rule(PRESENCE)
    hour = 3_600_000
    # Times may be two minutes off; the count starts again after about an hour without the device.
    events = [(hour + 5_000, 7), (hour + 1_000, 8), (hour + 9_000, 9), (2 * hour + 5_000, 0)]
    made = [rule.apply({"clientId": "d", "timestamp": at, "versionNumber": n}) for at, n in events]
    sequences = [task["sequence"] for task in made]
    assert sequences == sorted(set(sequences))


def test_a_time_ahead_of_the_rules_clock_is_replaced_by_it() -> None:
    before, ahead = now_ms(), now_ms() + 120_000
    made = Rule(PRESENCE).apply({"clientId": "d", "timestamp": ahead})
    assert before <= made["taskCreated"] <= now_ms()
    assert made["payload"]["connectedAt"] == ahead


def test_what_an_event_does_not_have_is_left_out() -> None:
    made = Rule("SELECT concat(a, b) AS joined, {'a': a, 'b': b} AS both FROM 't'").apply({"a": 1})
    assert made == {"both": {"a": 1}}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM 't'",
        "SELECT upper(a) AS a FROM 't'",
        "SELECT a AS b FROM 't' WHERE a > b",
        "SELECT a AS b",
        "SELECT a b FROM 't'",
        "SELECT a AS b FROM t",
    ],
)
def test_a_statement_beyond_that_is_refused(statement: str) -> None:
    with pytest.raises(UnknownStatement):
        Rule(statement)
