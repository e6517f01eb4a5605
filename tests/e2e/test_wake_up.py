"""Wake-ups: the sweep replaces a lost wake-up, and an item that is not a task causes none."""

from __future__ import annotations

from expectations import wait_for

from local.contract import CONTROL_ITEM, KEY
from local.events import event
from local.queue_reader import QueueReader
from local.queue import DeployedQueue
from local.waiting import now_ms


def test_the_sweep_wakes_the_queue_after_a_lost_notification(queue: DeployedQueue) -> None:
    queue.wait_until_idle()
    functions, name = queue.client("lambda"), queue.function("process-tasks")
    queue.empty_queues()
    began = now_ms()
    # No processor may start, so Lambda discards the notification.
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    task_id = queue.create([{"payload": {"lost": True}}])["created"][0]["taskId"]
    discarded = QueueReader(queue.client("sqs"), queue.failure_queue("process-tasks"))
    discarded.wait_for(lambda _: True, 60, "the discarded notification")
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=2)
    assert queue.status(task_id) == "PENDING"
    assert queue.turns(began) == []

    assert queue.invoke("sweep-tasks", {})["woke"]
    wait_for(queue, [task_id])


def test_the_control_item_causes_no_wake_up(queue: DeployedQueue) -> None:
    # The mapping's filter can drop such a record, so the test invokes the function with it.
    assert queue.invoke("trigger", insert_record(CONTROL_ITEM)) == "nothing_inserted"


def insert_record(task_id: str) -> dict:
    """A stream event with the INSERT of one item without a status."""
    inserted = event("trigger-insert")
    change = inserted["Records"][0]["dynamodb"]
    change["Keys"] = {KEY: {"S": task_id}}
    change["NewImage"] = {KEY: {"S": task_id}, "requested": {"N": "0"}}
    return inserted
