"""Tasks that DynamoDB deletes before they finish are counted and sent to the shed queue.

The local AWS deletes expired items without a stream record, so the test invokes count-shed with the record that AWS
would send.
"""

from __future__ import annotations

import copy
import json
import uuid
from typing import Any

from local.events import event
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until


def test_a_shed_task_is_sent_to_the_shed_queue_and_a_cancelled_one_is_not(queue: DeployedQueue) -> None:
    sample = event("count-shed")
    shed, cancelled = f"shed-{uuid.uuid4()}", f"cancelled-{uuid.uuid4()}"
    by_ttl = named(sample["Records"][0], shed)
    by_hand = named(sample["Records"][0], cancelled)
    # The record of an operator's deletion does not have the identity of the TTL service.
    del by_hand["userIdentity"]
    response = queue.invoke("count-shed", {"Records": [by_hand, by_ttl]})
    assert response == {"batchItemFailures": []}

    messages: dict[str, dict[str, Any]] = {}
    sqs, url = queue.client("sqs"), queue.outputs["ShedTasksQueueUrl"]

    def arrived() -> bool:
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        messages.update({m["taskId"]: m for m in (json.loads(r["Body"]) for r in received)})
        return shed in messages

    wait_until(arrived, 20, "the shed task's message")
    assert cancelled not in messages
    assert messages[shed]["taskStatus"] == "PENDING"
    assert "payload" in messages[shed]


def named(record: dict[str, Any], task_id: str) -> dict[str, Any]:
    """A copy of the record for a task with this id, deleted now."""
    copied = copy.deepcopy(record)
    copied["dynamodb"]["Keys"]["taskId"] = {"S": task_id}
    copied["dynamodb"]["OldImage"]["taskId"] = {"S": task_id}
    copied["dynamodb"]["ApproximateCreationDateTime"] = now_ms() // 1000
    return copied
