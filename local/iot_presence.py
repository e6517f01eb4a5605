"""The messages that the deployed IoT rule sends to the ingest queue.

The emulator's rules engine supports neither `floor` nor object literals nor case statements. Therefore, this module
builds the messages for the only statement that this project deploys, according to AWS's documentation. It rejects a
template with any other statement.
"""

from __future__ import annotations

from typing import Any

from local.assembly import Assembly

#: The only statement that is supported: https://docs.aws.amazon.com/iot/latest/developerguide/iot-sql-reference.html
STATEMENT = (
    "SELECT clientId AS key,"
    " floor(timestamp / 3600000) * 1000000 + versionNumber AS sequence,"
    " CASE timestamp > timestamp() WHEN true THEN timestamp() ELSE timestamp END AS taskCreated,"
    " {'clientId': clientId, 'ipAddress': ipAddress, 'connectedAt': timestamp,"
    " 'sessionIdentifier': sessionIdentifier, 'versionNumber': versionNumber,"
    " 'principalIdentifier': principalIdentifier} AS payload"
    " FROM '$aws/events/presence/connected/#'"
)


class OtherStatement(RuntimeError):
    """Raised if the template's rule doesn't have the statement that this module supports."""


def check(assembly: Assembly) -> None:
    """Raises `OtherStatement` unless the template's only IoT rule has the known statement."""
    found = [rule.properties["TopicRulePayload"]["Sql"] for rule in assembly.resources("AWS::IoT::TopicRule")]
    if found != [STATEMENT]:
        raise OtherStatement(f"{assembly.stack} has the IoT statements {found}; adapt local/iot_presence.py to them")


def message(event: dict[str, Any], now_ms: int) -> dict[str, Any]:
    """The message for a device that connected. `now_ms` is the time on the rule's clock, in ms."""
    payload = {
        "clientId": event["clientId"],
        "ipAddress": event.get("ipAddress"),
        "connectedAt": event["timestamp"],
        "sessionIdentifier": event["sessionIdentifier"],
        "versionNumber": event["versionNumber"],
        "principalIdentifier": event.get("principalIdentifier"),
    }
    return {
        "key": event["clientId"],
        "sequence": event["timestamp"] // 3_600_000 * 1_000_000 + event["versionNumber"],
        "taskCreated": min(event["timestamp"], now_ms),
        # IoT omits attributes that an event doesn't have.
        "payload": {name: value for name, value in payload.items() if value is not None},
    }
