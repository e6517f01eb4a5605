"""Judging from the history whether the newest task was always started first.

The promise: a freed slot takes the newest eligible task of an index page that is at most
100 ms old. So a take of task *t* passes over a newer task *u* wrongly when *u*

- was newer (`taskCreated`), and still waited when *t* was taken, by the order of commits,
- was eligible and visible for longer than the tolerance before *t* was taken, and
- was not itself being taken at that moment: slots that are freed together race for their
  conditional writes, so starts within `CONCURRENT_MS` of each other count as one.

The tolerance is the page's 100 ms, plus what one query of the index takes on the local AWS
(`QUERY_MS`; its index itself is always current). Tasks that came in later than that are
"inserted meanwhile". The worst case found is reported beside the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from local.history import Change

PAGE_MS = 100
QUERY_MS = 400
TOLERANCE_MS = PAGE_MS + QUERY_MS
CONCURRENT_MS = 50


@dataclass(frozen=True)
class Start:
    """A start of a task: when it was taken (the function's clock, ms) and how old it was."""

    task_id: str
    created: int
    taken: int
    position: int

    @property
    def age(self) -> int:
        """The task's age at its start, in ms."""
        return self.taken - self.created


@dataclass(frozen=True)
class Overlooked:
    """A start before which a newer task had been waiting, visibly, for `waited` ms."""

    start: Start
    newer: str
    waited: int


@dataclass(frozen=True)
class Verdict:
    """What the history says about the order.

    `overtakes` counts the starts at which an older task was left waiting: where it is zero,
    there was no choice to make and nothing was shown. `worst` is the longest visible wait of
    a passed-over newer task, within or beyond the tolerance.
    """

    starts: list[Start]
    overtakes: int
    worst: int
    violations: list[Overlooked]

    @property
    def held(self) -> bool:
        """Whether every start was of the newest eligible task, and choices were made at all."""
        return not self.violations and self.overtakes > 0


@dataclass
class _Waiting:
    """A stretch of time in which a task was PENDING."""

    task_id: str
    created: int
    visible: int
    first_position: int
    last_position: float = float("inf")
    taken: float = float("inf")


def starts(changes: list[Change]) -> list[Start]:
    """Every start of a task, in the order of the commits."""
    found = []
    for change in changes:
        created, taken = change.number("taskCreated"), change.number("taskUpdated")
        if change.is_take and created is not None and taken is not None:
            found.append(Start(change.task_id, created, taken, change.position))
    return found


def judge(changes: list[Change]) -> Verdict:
    """Check every start in the history against the promise."""
    waits = _waits(changes)
    all_starts = starts(changes)
    overtakes, worst = 0, 0
    violations: list[Overlooked] = []
    for start in all_starts:
        waiting = [w for w in waits if w.first_position < start.position < w.last_position]
        if any(w.created < start.created for w in waiting):
            overtakes += 1
        for other in waiting:
            if other.created <= start.created or other.taken <= start.taken + CONCURRENT_MS:
                continue
            waited = start.taken - other.visible
            worst = max(worst, waited)
            if waited > TOLERANCE_MS:
                violations.append(Overlooked(start, other.task_id, waited))
    return Verdict(all_starts, overtakes, worst, violations)


def _waits(changes: list[Change]) -> list[_Waiting]:
    """Every stretch in which a task was PENDING, from the moment it could be seen and was due."""
    open_waits: dict[str, _Waiting] = {}
    waits: list[_Waiting] = []
    for change in changes:
        ended = open_waits.pop(change.task_id, None) if change.after != "PENDING" else None
        if ended is not None:
            ended.last_position = change.position
            ended.taken = change.number("taskUpdated") or change.seen
        created = change.number("taskCreated")
        if change.after == "PENDING" and change.before != "PENDING" and created is not None:
            visible = max(change.seen, change.number("notBefore") or 0)
            wait = _Waiting(change.task_id, created, visible, change.position)
            open_waits[change.task_id] = wait
            waits.append(wait)
    return waits
