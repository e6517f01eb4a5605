"""A client for the deployed task queue: its table, tasks and turns."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Iterable

from local.contract import CONTROL_ITEM, INDEX, KEY, STATUSES
from local.stack import DeployedStack
from local.waiting import now_ms, wait_until

#: The maximum number of messages per SQS request.
_SQS_BATCH = 10
#: The maximum number of items per BatchWriteItem.
_WRITE_BATCH = 25
#: Fields that identify the log line that process-tasks writes at the end of each turn.
_TURN_FIELDS = {"tail_call", "empty_polls", "lost_races"}


@dataclass
class DeployedQueue(DeployedStack):
    _turns_by_hand: list[int] = field(default_factory=list)

    @property
    def table(self) -> str:
        return self.outputs["QueueTableName"]

    def create(self, tasks: list[dict[str, Any]]) -> dict[str, Any]:
        """Creates tasks through create-tasks and returns its response: created, duplicates and failed."""
        return self.invoke("create-tasks", {"tasks": tasks})

    def item(self, task_id: str) -> dict[str, Any] | None:
        """A table item in DynamoDB JSON, from a strongly consistent read."""
        response = self.client("dynamodb").get_item(
            TableName=self.table, Key={KEY: {"S": task_id}}, ConsistentRead=True
        )
        return response.get("Item")

    def status(self, task_id: str) -> str | None:
        item = self.item(task_id)
        return item["taskStatus"]["S"] if item else None

    def statuses(self) -> dict[str, str]:
        """The status of every task, by id, read in pages."""
        pages = self.client("dynamodb").get_paginator("scan").paginate(
            TableName=self.table, ProjectionExpression=f"{KEY}, taskStatus", ConsistentRead=True
        )
        items = (item for page in pages for item in page["Items"])
        return {item[KEY]["S"]: item["taskStatus"]["S"] for item in items if "taskStatus" in item}

    def messages_left(self) -> int:
        """The number of messages in the ingest queue, including messages in flight."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        url = self.outputs["IngestQueueUrl"]
        left = self.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(left[name]) for name in names)

    def send(self, bodies: list[Any]) -> None:
        """Sends messages with these JSON values to the ingest queue, up to ten per request."""
        for batch in chunks(bodies, _SQS_BATCH):
            entries = [{"Id": str(number), "MessageBody": json.dumps(body)} for number, body in enumerate(batch)]
            response = self.client("sqs").send_message_batch(QueueUrl=self.outputs["IngestQueueUrl"], Entries=entries)
            if failed := response.get("Failed"):
                raise RuntimeError(f"the ingest queue rejected {failed[0]}")

    def limit_inserts(self, per_second: int) -> None:
        """Limits the inserts of tasks; see `local.throttling`."""
        throughput = {"MaxWriteRequestUnits": per_second}
        self.client("dynamodb").update_table(TableName=self.table, OnDemandThroughput=throughput)

    def count(self, status: str) -> int:
        """The number of tasks in a status, counted in the index."""
        return sum(page["Count"] for page in self._in_index(status, Select="COUNT"))

    def delete_pending(self) -> int:
        """Deletes the pending tasks and returns their number."""
        keys = [item for page in self._in_index("PENDING", ProjectionExpression=KEY) for item in page["Items"]]
        for batch in chunks(keys, _WRITE_BATCH):
            requests = [{"DeleteRequest": {"Key": key}} for key in batch]
            response = self.client("dynamodb").batch_write_item(RequestItems={self.table: requests})
            assert not response.get("UnprocessedItems"), response
        return len(keys)

    def _in_index(self, status: str, **query: Any) -> Iterable[dict[str, Any]]:
        """The pages of a query of the index for the tasks in a status."""
        return self.client("dynamodb").get_paginator("query").paginate(
            TableName=self.table,
            IndexName=INDEX,
            KeyConditionExpression="taskStatus = :status",
            ExpressionAttributeValues={":status": {"S": status}},
            **query,
        )

    def counts(self) -> dict[str, int]:
        return {status: self.count(status) for status in STATUSES}

    def is_idle(self) -> bool:
        """Whether the processor lease is free."""
        control = self.item(CONTROL_ITEM) or {}
        return "owner" not in control or int(control["leaseUntil"]["N"]) <= now_ms()

    def wait_until_idle(self, seconds: float = 90) -> None:
        """Waits until no processor is active in five consecutive checks.

        One check isn't enough, because no processor is active between a release and the start of its tail call either.
        """
        calm = 0
        deadline = time.monotonic() + seconds
        while calm < 5:
            assert time.monotonic() < deadline, f"a processor is still active: {self.item(CONTROL_ITEM)}, {self.counts()}"
            calm = calm + 1 if self.is_idle() else 0
            time.sleep(0.2)

    def replace_environment(self, binary: str, variables: dict[str, str]) -> None:
        """Sets a deployed function's environment to exactly these variables and waits until they apply.

        A new environment replaces the process. A replaced processor would not release its lease, and the next tasks
        would wait for the sweep. For process-tasks, this method therefore first waits until the queue is idle.
        """
        if binary == "process-tasks":
            self.wait_until_idle()
        super().replace_environment(binary, variables)

    def turns(self, since_ms: int) -> list[dict[str, Any]]:
        """The summaries that process-tasks logged at the end of its turns since `since_ms`."""
        lines = self.log_messages("process-tasks", since_ms)
        return [line for line in lines if _TURN_FIELDS <= line.keys()]

    def invocations(self, binary: str, since_ms: int) -> int:
        """The number of a function's invocations that ended since `since_ms`, excluding manual turns.

        Counts START lines from the platform, which the emulator writes when an invocation ends.
        """
        pages = self.client("logs").get_paginator("filter_log_events").paginate(
            logGroupName=self.log_group(binary), startTime=since_ms
        )
        ended = sum(
            event["message"].startswith("START RequestId")
            for page in pages
            for event in page["events"]
        )
        by_hand = self._turns_by_hand if binary == "process-tasks" else []
        return ended - sum(at >= since_ms for at in by_hand)

    def turn_by_hand(self) -> Any:
        """Invokes process-tasks directly, without the wake-up protocol, and returns the turn's summary."""
        self._turns_by_hand.append(now_ms())
        return self.invoke("process-tasks", {})


def wait_for_last_turn(queue: DeployedQueue, since_ms: int, taken: int = 0, seconds: float = 90) -> None:
    """Waits until the last turn since `since_ms` has ended, and every turn's summary is logged.

    The emulator can delay an invocation's last log lines until the next invocation in the same process. With multiple
    processors, it can also delay the START line. If summaries are missing after the last turn, or count fewer than
    `taken` takes in total, two concurrent extra turns flush the lines of both processes.
    """

    def ended() -> bool:
        turns = [turn for turn in queue.turns(since_ms) if not left_at_once(turn)]
        return queue.is_idle() and bool(turns) and not turns[-1]["tail_call"]

    def complete() -> bool:
        turns = queue.turns(since_ms)
        logged = len(turns) >= queue.invocations("process-tasks", since_ms)
        return ended() and logged and sum(turn["taken"] for turn in turns) >= taken

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        wait_until(queue.is_idle, seconds, "the end of the last turn")
        try:
            return wait_until(complete, 5, "every turn's summary", every=0.5)
        except TimeoutError:
            with ThreadPoolExecutor(2) as turns:
                list(turns.map(lambda _: queue.turn_by_hand(), range(2)))
    raise TimeoutError(f"not within {seconds:.0f} s: the summaries of all turns")


def left_at_once(turn: dict[str, Any]) -> bool:
    """Whether a turn ended immediately because another processor was active, according to its summary."""
    return turn["exit"].replace("_", "").lower() == "alreadyactive"


def chunks(items: list[Any], size: int) -> Iterable[list[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
