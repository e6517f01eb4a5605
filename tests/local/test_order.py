"""The order check finds every violation and accepts only deviations within the tolerance."""

from __future__ import annotations

from dataclasses import replace

from local import order
from local.history import Change

T0 = 1_800_000_000_000


def change(
    position: int,
    task: str,
    before: str | None,
    after: str | None,
    *,
    created: int,
    updated: int,
    seen: int | None = None,
    not_before: int | None = None,
) -> Change:
    """A change at a position in the stream. Times are in ms after T0; `seen` defaults to `updated`."""
    image = {"taskCreated": {"N": str(T0 + created)}, "taskUpdated": {"N": str(T0 + updated)}}
    if not_before is not None:
        image["notBefore"] = {"N": str(T0 + not_before)}
    seen = updated if seen is None else seen
    return Change(position, T0 + seen, task, before, after, image)


def insert(position: int, task: str, at: int) -> Change:
    return change(position, task, None, "PENDING", created=at, updated=at)


def take(position: int, task: str, created: int, at: int) -> Change:
    return change(position, task, "PENDING", "TAKEN", created=created, updated=at)


def test_newest_first_holds_and_counts_the_choices_made() -> None:
    changes = [
        insert(0, "old", 0),
        insert(1, "new", 10),
        take(2, "new", 10, 2000),
        take(3, "old", 0, 3000),
    ]
    verdict = order.judge(changes)
    assert verdict.held
    assert verdict.overtakes == 1
    assert [start.age for start in verdict.starts] == [1990, 3000]


def test_oldest_first_is_a_violation_with_the_wait_of_the_newer_task() -> None:
    changes = [
        insert(0, "old", 0),
        insert(1, "new", 10),
        take(2, "old", 0, 2000),
        take(3, "new", 10, 3000),
    ]
    verdict = order.judge(changes)
    assert not verdict.held
    (wrong,) = verdict.violations
    assert (wrong.start.task_id, wrong.newer, wrong.waited) == ("old", "new", 1990)
    assert verdict.worst == 1990


def test_newer_task_may_be_passed_over_within_the_tolerance() -> None:
    def verdict_for(visible_before_the_take: int) -> order.Verdict:
        inserted = 5000 - visible_before_the_take
        return order.judge(
            [
                insert(0, "oldest", 0),
                insert(1, "old", 10),
                insert(2, "new", inserted),
                take(3, "old", 10, 5000),
                take(4, "new", inserted, 6000),
                take(5, "oldest", 0, 7000),
            ]
        )

    assert verdict_for(order.TOLERANCE_MS).held
    assert verdict_for(order.TOLERANCE_MS).worst == order.TOLERANCE_MS
    assert not verdict_for(order.TOLERANCE_MS + 1).held


def test_takes_of_concurrent_slots_count_as_simultaneous() -> None:
    def verdict_for(apart: int) -> order.Verdict:
        return order.judge(
            [
                insert(0, "oldest", 0),
                insert(1, "old", 10),
                insert(2, "new", 20),
                take(3, "old", 10, 5000),
                take(4, "new", 20, 5000 + apart),
            ]
        )

    assert verdict_for(order.CONCURRENT_MS).held
    assert not verdict_for(order.CONCURRENT_MS + 1).held


def test_returned_task_is_not_due_before_its_not_before_time() -> None:
    def verdict_for(not_before: int) -> order.Verdict:
        back = change(
            4, "new", "TAKEN", "PENDING", created=20, updated=1100, not_before=not_before
        )
        return order.judge(
            [
                insert(0, "oldest", 0),
                insert(1, "old", 10),
                insert(2, "new", 20),
                take(3, "new", 20, 1000),
                back,
                take(5, "old", 10, 3000),
                take(6, "new", 20, 9000),
            ]
        )

    assert verdict_for(not_before=2900).held
    assert not verdict_for(not_before=2000).held


def test_order_is_not_proven_if_no_start_had_a_choice() -> None:
    verdict = order.judge([insert(0, "only", 0), take(1, "only", 0, 100)])
    assert verdict.violations == []
    assert not verdict.held


def test_a_task_that_never_started_while_older_ones_did_is_a_violation() -> None:
    verdict = order.judge(
        [insert(0, "old", 0), insert(1, "new", 10), take(2, "old", 0, 9000)]
    )
    assert [wrong.newer for wrong in verdict.violations] == ["new"]


def test_take_that_found_no_slot_is_no_start_but_a_take_before_a_retry_is() -> None:
    def counted(position: int, before: str, after: str, attempts: int) -> Change:
        one = change(position, "a", before, after, created=0, updated=position)
        return replace(one, image={**one.image, "totalAttempts": {"N": str(attempts)}})

    changes = [
        insert(0, "a", 0),
        counted(1, "PENDING", "TAKEN", 1),
        counted(2, "TAKEN", "PENDING", 0),
        counted(3, "PENDING", "TAKEN", 1),
        counted(4, "TAKEN", "PENDING", 1),
        counted(5, "PENDING", "TAKEN", 2),
        counted(6, "TAKEN", "FAILURE", 2),
        # A redrive also resets the counter.
        counted(7, "FAILURE", "PENDING", 0),
    ]
    assert [start.position for start in order.starts(changes)] == [3, 5]
