"""Valid and invalid items that another program writes with a plain PutItem request."""

from __future__ import annotations

import time
from typing import Any

import pytest
from expectations import number, put, takes, wait_for

from local.agents import fresh
from local.history import Change, History
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until


def foreign(task_id: str, **attributes: dict[str, Any]) -> dict[str, Any]:
    """An item with the three attributes required from a direct writer, and additional attributes."""
    return {
        "taskId": {"S": task_id},
        "taskStatus": {"S": "PENDING"},
        "taskCreated": {"N": str(now_ms())},
        **attributes,
    }


def assert_settled_like_ours(queue: DeployedQueue, task_id: str) -> None:
    item = queue.item(task_id)
    assert item is not None
    assert time.time() < number(item, "ttl") < 10**11, "ttl is in epoch seconds, and in the future"
    assert number(item, "attempts") == 1


def test_item_with_only_the_three_required_attributes_succeeds(queue: DeployedQueue) -> None:
    task_id = fresh("three")
    put(queue, foreign(task_id))
    wait_for(queue, [task_id])
    assert_settled_like_ours(queue, task_id)


@pytest.mark.parametrize("unit", ["seconds", "milliseconds"])
def test_ttl_is_accepted_in_seconds_and_in_milliseconds(
    queue: DeployedQueue, history: History, unit: str
) -> None:
    task_id = fresh(unit)
    deadline = int(time.time()) + 600
    given = deadline * 1000 if unit == "milliseconds" else deadline
    put(queue, foreign(task_id, ttl={"N": str(given)}))
    wait_for(queue, [task_id])
    assert_settled_like_ours(queue, task_id)
    # During the run, expiresAt held the expiry in epoch seconds. ttl was after the lease, so nothing was deleted.

    # On a busy machine, a change appears in the local AWS's stream later than in its table.
    def takes_of_it() -> list[Change]:
        return [change for change in history.changes() if change.task_id == task_id and change.is_take]

    wait_until(lambda: bool(takes_of_it()), 60, "the take in the stream")
    (taken,) = takes_of_it()
    assert taken.number("expiresAt") == deadline
    ttl, lease_until = taken.number("ttl"), taken.number("leaseUntil")
    assert ttl is not None and lease_until is not None
    assert lease_until / 1000 < ttl < 10**11


def test_expired_task_never_runs_and_does_not_block_others(
    queue: DeployedQueue, history: History
) -> None:
    behind, expired, before = fresh("behind"), fresh("expired"), fresh("before")
    put(queue, foreign(behind))
    put(queue, foreign(expired, ttl={"N": str(int(time.time()) - 60)}))
    put(queue, foreign(before))
    wait_for(queue, [behind, before])
    wait_until(lambda: queue.is_idle(), 30, "the processor's end")
    assert takes(history, [behind, expired, before]) == {behind: 1, before: 1}
    assert queue.status(expired) in ("PENDING", None), "DynamoDB deletes it later"


def test_an_item_that_cannot_be_taken_is_quarantined(queue: DeployedQueue, history: History) -> None:
    behind, broken, before = fresh("behind"), fresh("broken"), fresh("before")
    put(queue, foreign(behind))
    put(queue, foreign(broken, attempts={"S": "three"}))
    put(queue, foreign(before))
    wait_for(queue, [behind, before])
    wait_for(queue, [broken], "FAILURE")
    item = queue.item(broken)
    assert item is not None and "attempts" in item["lastError"]["S"]
    # On AWS, the take fails because it adds 1 to an attribute that is not a number. The emulator accepts the take. The
    # queue then quarantines the taken item too, because that item is invalid.
    assert takes(history, [broken])[broken] <= 1
    assert takes(history, [behind, before]) == {behind: 1, before: 1}
