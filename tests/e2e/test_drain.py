"""Tail calls drain a thousand tasks, and only a few wake-ups start processors."""

from __future__ import annotations

from expectations import takes

from local.history import History
from local.queue import DeployedQueue, chunks, wait_for_last_turn
from local.waiting import now_ms, wait_until

TASKS = 1000
#: Maximum number of process-tasks invocations that a burst can cause, excluding those from tail calls.
MOST_WAKE_UPS = 5
SHORT_TURN_MS = 3000


def test_short_turns_drain_a_thousand_tasks_with_tail_calls(
    queue: DeployedQueue, history: History
) -> None:
    queue.wait_until_idle()
    began = now_ms()
    queue.set_environment("process-tasks", settings={"turnMs": SHORT_TURN_MS})
    wanted = drained(queue, history)
    wait_for_last_turn(queue, began, TASKS)
    turns = queue.turns(began)
    tail_calls = [turn for turn in turns if turn["tail_call"]]
    print(f"{TASKS} tasks in {len(turns)} turns, {len(tail_calls)} tail calls")
    assert len(tail_calls) >= 2
    assert turns[-1]["tail_call"] is False
    assert sum(turn["succeeded"] for turn in turns) == TASKS
    once = takes(history, wanted)
    assert len(once) == TASKS and set(once.values()) == {1}


def test_a_burst_wakes_few_processors(queue: DeployedQueue, history: History) -> None:
    queue.wait_until_idle()
    # Throttled notifications would be delivered later and would not be counted. The fixture restores the concurrency.
    queue.client("lambda").delete_function_concurrency(FunctionName=queue.function("process-tasks"))
    began = now_ms()
    drained(queue, history)
    wait_for_last_turn(queue, began)
    tail_calls = sum(bool(turn["tail_call"]) for turn in queue.turns(began))
    wake_ups = queue.invocations("process-tasks", began) - tail_calls
    print(f"{wake_ups} wake-ups and {tail_calls} tail calls; {queue.invocations('trigger', began)} invocations of trigger")
    assert 1 <= wake_ups <= MOST_WAKE_UPS


def drained(queue: DeployedQueue, history: History) -> set[str]:
    """Creates `TASKS` tasks, waits until all are in SUCCESS, and returns their ids."""
    ids = set[str]()
    for batch in chunks([{"payload": {"number": n}} for n in range(TASKS)], 250):
        response = queue.create(batch)
        assert response["failed"] == []
        ids |= {created["taskId"] for created in response["created"]}
    assert len(ids) == TASKS
    wait_until(lambda: succeeded(history, ids) == TASKS, 240, f"{TASKS} tasks in SUCCESS", every=1.0)
    return ids


def succeeded(history: History, wanted: set[str]) -> int:
    """The number of tasks that reached SUCCESS, read from the stream, which costs less than a read of the index."""
    return sum(c.after == "SUCCESS" and c.task_id in wanted for c in history.changes())
