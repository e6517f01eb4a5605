"""Two concurrent invocations of `process-tasks`: a surplus one, and one after the first has lost its lease."""

from __future__ import annotations

from expectations import create, takes, wait_for

from local.contract import CONTROL_ITEM, KEY
from local.history import History
from local.queue import DeployedQueue, left_at_once, wait_for_last_turn
from local.waiting import now_ms, wait_until

TASKS = 300


def notify(queue: DeployedQueue) -> str:
    """Publishes a notification without a wake-up request and returns the message's id."""
    response = queue.client("sns").publish(
        TopicArn=queue.outputs["ProcessTasksTopicArn"], Message="{}"
    )
    return response["MessageId"]


def running(history: History, ids: list[str]) -> bool:
    return len(takes(history, ids)) > 10


def test_a_second_invocation_ends_while_the_first_is_active(
    queue: DeployedQueue, history: History
) -> None:
    queue.wait_until_idle()
    began = now_ms()
    ids = create(queue, TASKS)
    wait_until(lambda: running(history, ids), 20, "the first processor at work")

    # While a slow machine still creates tasks, the first turn may find none left and end. A later one is then active.
    def second_left() -> bool:
        notify(queue)
        return any(left_at_once(turn) for turn in queue.turns(began))

    wait_until(second_left, 60, "the end of a second invocation while the first is active", every=1)
    wait_for(queue, ids, seconds=120)
    wait_for_last_turn(queue, began, TASKS)
    surplus = [turn for turn in queue.turns(began) if left_at_once(turn)]
    assert all(turn["taken"] == 0 for turn in surplus)
    first_end = max(turn["timestamp"] for turn in working(queue, began))
    assert min(turn["timestamp"] for turn in surplus) < first_end, "the first ended before the second"
    assert len(request_ids(queue, began)) >= 2
    assert set(takes(history, ids).values()) == {1}


def test_two_processors_run_no_task_twice(queue: DeployedQueue, history: History) -> None:
    queue.wait_until_idle()
    began = now_ms()
    ids = create(queue, TASKS)
    wait_until(lambda: running(history, ids), 20, "the first processor at work")
    # Deletes the first processor's lease, as if it had expired while the process was suspended. The second processor
    # acquires the lease before the first notices the loss at its next heartbeat.
    queue.client("dynamodb").delete_item(TableName=queue.table, Key={KEY: {"S": CONTROL_ITEM}})
    notify(queue)
    wait_for(queue, ids, seconds=120)
    wait_for_last_turn(queue, began, TASKS)
    both = working(queue, began)
    print([(turn["exit"], turn["taken"], turn["lost_races"]) for turn in both])
    assert len(both) >= 2 and len(request_ids(queue, began)) >= 2
    once = takes(history, ids)
    assert len(once) == TASKS and set(once.values()) == {1}
    assert sum(turn["taken"] for turn in both) == TASKS


def working(queue: DeployedQueue, since_ms: int) -> list[dict]:
    """The turns that took tasks since `since_ms`."""
    return [turn for turn in queue.turns(since_ms) if turn["taken"] > 0]


def request_ids(queue: DeployedQueue, since_ms: int) -> set[str]:
    """The request ids of the invocations that logged a turn."""
    return {turn["span"]["requestId"] for turn in queue.turns(since_ms)}
