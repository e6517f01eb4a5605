"""Uses the history to check that the newest task always started first.

The guarantee: a free slot takes the newest due task of an index page that is at most 100 ms old. Therefore, the take of
a task *t* is wrong if another task *u*

- was newer (`taskCreated`) and still PENDING when *t* was taken, in commit order,
- had been due and visible for longer than the tolerance before *t* was taken, and
- was not taken at the same moment. Slots that become free together compete for their conditional writes, so starts
  within `CONCURRENT_MS` of each other count as simultaneous.

The tolerance is the page's 100 ms plus the time of one index query on the local AWS
(`QUERY_MS`; the local index has no lag). A newer task that was visible for a shorter time can be passed over. The
report shows the longest such time and the limit.
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
    """A start of a task. `created` and `taken` are in ms; `taken` is the time on the function's clock."""

    task_id: str
    created: int
    taken: int
    position: int

    @property
    def age(self) -> int:
        return self.taken - self.created


@dataclass(frozen=True)
class Overlooked:
    """A start of a task although a newer one had been visible and due for `waited` ms."""

    start: Start
    newer: str
    waited: int


@dataclass(frozen=True)
class Verdict:
    """The result of the order check.

    `overtakes` counts the starts at which an older task was pending. If this count is zero, no start had a choice, and
    the check proves nothing. `worst` is the longest time (ms) for which a newer task was visible before an older one
    started, within or beyond the tolerance.
    """

    starts: list[Start]
    overtakes: int
    worst: int
    violations: list[Overlooked]

    @property
    def held(self) -> bool:
        """Whether each start took the newest due task, and at least one start had a choice."""
        return not self.violations and self.overtakes > 0


@dataclass
class _Waiting:
    task_id: str
    created: int
    visible: int
    first_position: int
    last_position: float = float("inf")
    taken: float = float("inf")


def starts(changes: list[Change]) -> list[Start]:
    """Every take whose run started. A task that found no free slot returned and got `totalAttempts` back."""
    found: list[Start] = []
    taken: dict[str, tuple[Start, int]] = {}
    for change in changes:
        created, updated = change.number("taskCreated"), change.number("taskUpdated")
        attempts = change.number("totalAttempts") or 0
        if change.is_take and created is not None and updated is not None:
            start = Start(change.task_id, created, updated, change.position)
            taken[change.task_id] = start, attempts
            found.append(start)
        elif (change.before, change.after) == ("TAKEN", "PENDING") and change.task_id in taken:
            start, with_take = taken.pop(change.task_id)
            if attempts < with_take:
                found.remove(start)
    return found


def judge(changes: list[Change]) -> Verdict:
    """Checks every start in the history against the guarantee."""
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
    """All periods in which a task was PENDING, from the time at which it was visible and due."""
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
