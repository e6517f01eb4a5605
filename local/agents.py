"""A client for the deployed agents' queue: its desk, calls and table."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from local.contract import AGENT_PK, AGENT_SK
from local.events import sqs_record
from local.stack import DeployedStack

#: Dimensions of the `dev` queue, in order. An agent can have multiple values for the first dimension.
DIMENSIONS = ("language", "gender")
#: Placeholder for any value in canonical criteria.
ANY = "*"


@dataclass(frozen=True)
class Counters:
    """The number of agents in a queue, and the number of times that the queue has changed."""

    depth: int
    version: int


@dataclass
class DeployedAgents(DeployedStack):
    @property
    def table(self) -> str:
        return self.outputs["AgentTableName"]

    def command(self, command: str, **fields: Any) -> Any:
        """Sends agent-desk a command without the fields that are None, and returns the response."""
        given = {name: value for name, value in fields.items() if value is not None}
        return self.invoke("agent-desk", {"command": command, **given})

    def queues(self) -> dict[str, Counters]:
        """The depth and version of every queue, by queue name (`Q#Spanish#M`)."""
        return {
            queue["queue"]: Counters(queue["depth"], queue["version"])
            for queue in self.command("queues")["queues"]
        }

    def pending(self) -> dict[str, int]:
        """The number of pending calls, by canonical criteria (`Spanish#M`)."""
        return {kind["criteria"]: kind["depth"] for kind in self.command("queues")["pending"]}

    def agents(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        after: str | None = None
        while True:
            page = self.command("agents", after=after)
            found.update({agent["agentId"]: agent for agent in page["agents"]})
            after = page.get("next")
            if after is None:
                return found

    def members(self, queue: str) -> list[str]:
        """The ids of a queue's agents, read from the table. The agent queued longest is first."""
        pages = self.client("dynamodb").get_paginator("query").paginate(
            TableName=self.table,
            KeyConditionExpression="#pk = :queue",
            ExpressionAttributeNames={"#pk": AGENT_PK},
            ExpressionAttributeValues={":queue": {"S": queue}},
            ConsistentRead=True,
        )
        return [item[AGENT_SK]["S"].split("#", 1)[1] for page in pages for item in page["Items"]]

    def send_call(self, call_id: str, criteria: dict[str, str]) -> None:
        """Sends a call to the call queue, in the message group for its criteria."""
        self.send_calls([intake_message(call_id, criteria)])

    def send_calls(self, messages: Iterable[dict[str, str]]) -> None:
        """Sends up to ten messages to the call queue in one request, in this order."""
        entries = [{"Id": str(n), **message} for n, message in enumerate(messages)]
        response = self.client("sqs").send_message_batch(
            QueueUrl=self.outputs["CallQueueUrl"], Entries=entries
        )
        if response.get("Failed"):
            raise RuntimeError(f"SQS rejected: {response['Failed']}")


def canonical(criteria: dict[str, str]) -> str:
    """The canonical form of criteria: the values in dimension order, with `*` for any value."""
    return "#".join(criteria.get(dimension, ANY) for dimension in DIMENSIONS)


def intake_message(
    call_id: str, criteria: dict[str, str], *, group: str | None = None, body: str | None = None
) -> dict[str, str]:
    """A message for the call queue with this call. To make it invalid, set a different `group` or `body`."""
    return {
        "MessageBody": json.dumps({"callId": call_id, "criteria": criteria}) if body is None else body,
        "MessageGroupId": canonical(criteria) if group is None else group,
        "MessageDeduplicationId": call_id,
    }


def intake_record(message: dict[str, str], **attributes: str) -> dict[str, Any]:
    """The record of a call queue message, as Lambda delivers it."""
    ids = {name: message[name] for name in ("MessageGroupId", "MessageDeduplicationId")}
    return sqs_record("match-calls", message["MessageBody"], None, ids | attributes)


def queues_of(agent: dict[str, Any]) -> list[str]:
    """The queues that an agent joins when queued: one per combination of its values."""
    values = [_values(agent["attributes"][dimension]) for dimension in DIMENSIONS]
    return ["#".join(("Q", *combination)) for combination in product(*values)]


def fits(agent: dict[str, Any], criteria: dict[str, str]) -> bool:
    """Whether an agent has the values that the criteria request."""
    return all(value in _values(agent["attributes"][name]) for name, value in criteria.items())


def by_turn(agents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Agents in the order of their turns: by `queuedAt` (`availableSince` if not queued), then by id."""

    def turn(agent: dict[str, Any]) -> tuple[str, str]:
        return agent.get("queuedAt") or agent["availableSince"], agent["agentId"]

    return sorted(agents, key=turn)


def fresh(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def _values(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]
