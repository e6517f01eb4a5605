"""Probes for the functions of an agents' queue."""

from __future__ import annotations

import json
import time
from typing import Any

from local.agents import DeployedAgents, fresh, intake_message, intake_record
from local.contract import AGENT_PK, AGENT_SK
from local.queue_reader import QueueReader
from local.waiting import wait_until
from tests.removal.probe import Probe, Unmet, demand, redelivers

_SOON_SECONDS = 3.0
#: Prefix of the agent partitions.
_AGENTS = "Agents#"
#: Prefix of the outbox partitions, which contain the events to publish.
_OUTBOX = "Outbox#"
#: Prefix of the partitions of pending calls, one per criteria.
_LINES = "C#"


class AgentProbes:
    """The probes for a deployed agents' queue. Only the probes invoke its functions."""

    def __init__(self, queue: DeployedAgents, assignments: QueueReader) -> None:
        self._queue = queue
        self._assignments = assignments
        self._dead = QueueReader(queue.client("sqs"), queue.outputs["CallDeadLetterQueueUrl"])

    def all(self) -> list[Probe]:
        return [
            Probe("agent-desk", "assigns an agent, and publishes the assignment", self._match),
            Probe("match-calls", "assigns an agent, and moves an invalid message to the dead-letter queue", self._intake),
            Probe("match-calls", "keeps a call pending that finds no agent", self._wait),
            Probe(
                "match-calls",
                "makes a failed call visible soon",
                self._intake_failed,
                # DynamoDB can't be reached, so the message remains in the queue.
                {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9"},
            ),
            Probe("sweep-agents", "assigns a pending call after a crash", self._pair),
            Probe("sweep-agents", "returns an unanswered call", self._return),
            Probe("sweep-agents", "moves an expired call to the dead-letter queue", self._sweep_late, settings={"maxWaitMs": 1000}),
        ]

    def _match(self) -> None:
        criteria = self._criteria()
        self._queued(criteria)
        call = fresh("call")
        response = self._queue.command("match", callId=call, criteria=criteria)
        demand(response["status"] == "assigned", response)
        self._told(self._assignments, call)

    def _intake(self) -> None:
        criteria, call, wrong = self._criteria(), fresh("call"), fresh("call")
        self._queued(criteria)
        message = intake_message(wrong, criteria, body=f"no call: {wrong}")
        records = [intake_record(intake_message(call, criteria)), intake_record(message)]
        response = self._queue.invoke("match-calls", {"Records": records})
        demand(response["batchItemFailures"] == [], response)
        self._told(self._assignments, call)
        self._told(self._dead, wrong)

    def _intake_failed(self) -> None:
        message = intake_message(fresh("call"), self._criteria())
        redelivers(self._queue, "match-calls", self._queue.outputs["CallQueueUrl"], message)

    def _wait(self) -> None:
        criteria, call = self._criteria(), fresh("call")
        records = [intake_record(intake_message(call, criteria))]
        response = self._queue.invoke("match-calls", {"Records": records})
        demand(response["batchItemFailures"] == [], response)
        response = self._queue.command("call", callId=call)
        demand(response["status"] == "pending", response)

    def _pair(self) -> None:
        criteria = self._criteria()
        agent, call = self._available(criteria), self._pending(criteria)
        # A process leaves this state if it queues an agent and crashes before it reads the calls again.
        table = {"TableName": self._queue.table}
        dynamodb = self._queue.client("dynamodb")
        (entry,) = self._about(call, _LINES)
        dynamodb.delete_item(**table, Key={name: entry[name] for name in (AGENT_PK, AGENT_SK)})
        response = self._queue.command("enqueue", agentId=agent)
        demand(response["changed"] is True, response)
        dynamodb.put_item(**table, Item=entry)
        report = self._queue.invoke("sweep-agents", {})
        demand(report["complete"] is True, report)
        self._told(self._assignments, call)

    def _return(self) -> None:
        criteria, call = self._criteria(), fresh("call")
        agent = self._queued(criteria)
        assignment = self._queue.command("match", callId=call, criteria=criteria)["assignment"]
        # An assignment that required an answer leaves this state if the setting answerWithin is removed afterward.
        past = "2000-01-01T00:00:00.000000Z"
        lease = {"AgentID": agent, "CallID": call, "Ticket": assignment["ticket"], "LeaseUntil": past, "AnswerBy": past}
        item = {AGENT_PK: "Leases#0", AGENT_SK: f"{past}#{agent}", **lease}
        table = {"TableName": self._queue.table}
        dynamodb = self._queue.client("dynamodb")
        dynamodb.put_item(**table, Item={name: {"S": value} for name, value in item.items()})
        (attending,) = self._about(agent, _AGENTS)
        dynamodb.update_item(
            **table,
            Key={name: attending[name] for name in (AGENT_PK, AGENT_SK)},
            UpdateExpression="SET LeaseUntil = :past, AnswerBy = :past",
            ExpressionAttributeValues={":past": {"S": past}},
        )
        self._queue.invoke("sweep-agents", {})
        response = self._queue.command("call", callId=call)
        demand(response["status"] == "pending", response)

    def _sweep_late(self) -> None:
        call = self._late_call()
        report = self._queue.invoke("sweep-agents", {})
        demand(report["untold"] == 0, report)
        self._told(self._dead, call)

    def _late_call(self) -> str:
        """Creates a call that has been pending for more than a second."""
        call = self._pending(self._criteria())
        time.sleep(1.2)
        return call

    def _pending(self, criteria: dict[str, str]) -> str:
        call = fresh("call")
        response = self._queue.command("match", callId=call, criteria=criteria)
        demand(response["status"] == "pending", response)
        return call

    def _criteria(self) -> dict[str, str]:
        return {"language": fresh("lang"), "gender": "M"}

    def _available(self, criteria: dict[str, str]) -> str:
        agent = fresh("agent")
        attributes = {"language": [criteria["language"]], "gender": criteria["gender"]}
        self._queue.command("register", agentId=agent, name="Ana", attributes=attributes)
        response = self._queue.command("available", agentId=agent)
        demand(response["changed"] is True, response)
        return agent

    def _queued(self, criteria: dict[str, str]) -> str:
        agent = self._available(criteria)
        response = self._queue.command("enqueue", agentId=agent)
        demand(response["changed"] is True, response)
        return agent

    def _told(self, queue_reader: QueueReader, call: str) -> None:
        """Waits until an event about a call has arrived and the event's outbox entry is deleted."""
        try:
            wait_until(
                lambda: any(call in message.body for message in queue_reader.messages()),
                _SOON_SECONDS,
                f"a message about {call}",
            )
            wait_until(lambda: not self._is_in_outbox(call), _SOON_SECONDS, f"the end of the outbox entry of {call}")
        except TimeoutError as error:
            raise Unmet(str(error)) from error

    def _is_in_outbox(self, call: str) -> bool:
        return bool(self._about(call, _OUTBOX))

    def _about(self, subject: str, partitions: str) -> list[dict[str, Any]]:
        """The items for a call or an agent in the partitions whose keys start with `partitions`."""
        pages = self._queue.client("dynamodb").get_paginator("scan").paginate(
            TableName=self._queue.table,
            FilterExpression="begins_with(#pk, :partitions)",
            ExpressionAttributeNames={"#pk": AGENT_PK},
            ExpressionAttributeValues={":partitions": {"S": partitions}},
            ConsistentRead=True,
        )
        return [item for page in pages for item in page["Items"] if subject in json.dumps(item)]
