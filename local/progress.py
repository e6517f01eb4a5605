"""The output of the demonstration: live counts while it runs, and a summary at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from rich.console import Group
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from local.contract import STATUSES
from local.history import Change
from local.order import Verdict, starts
from local.waiting import now_ms

_COLOURS = {"PENDING": "yellow", "TAKEN": "cyan", "SUCCESS": "green", "FAILURE": "red"}


@dataclass
class Wave:
    number: int
    task_ids: set[str] = field(default_factory=set)


def counts(changes: list[Change]) -> Counter[str]:
    present: dict[str, str | None] = {}
    for change in changes:
        present[change.task_id] = change.after
    return Counter(status for status in present.values() if status is not None)


def age(milliseconds: float) -> str:
    """Formats a duration in milliseconds if it is less than one second, otherwise in seconds."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def line(changes: list[Change], waves: list[Wave], total: int) -> str:
    """The state in one line, for output that doesn't go to a terminal."""
    by_status = counts(changes)
    states = ", ".join(f"{by_status[status]} {status}" for status in STATUSES)
    recent = [start.age for start in starts(changes)[-20:]]
    at_start = f", age at start {age(median(recent))}" if recent else ""
    return f"wave {len(waves)}: {states} of {total}{at_start}"


def panel(changes: list[Change], waves: list[Wave], total: int, began_ms: int) -> Panel:
    by_status = counts(changes)
    status_table = Table.grid(padding=(0, 2))
    for status in STATUSES:
        bar = ProgressBar(
            total=total, completed=by_status[status], width=40, complete_style=_COLOURS[status]
        )
        status_table.add_row(status, f"{by_status[status]:>4}", bar)
    recent = starts(changes)[-20:]
    lines = Table.grid(padding=(0, 2))
    lines.add_row("depth", f"{by_status['PENDING']} pending, {by_status['TAKEN']} running")
    if recent:
        ages = [start.age for start in recent]
        lines.add_row("age at start", f"median {age(median(ages))}, the last {len(ages)} starts")
        lines.add_row("started last", _waves_of(recent, waves))
    elapsed = (now_ms() - began_ms) / 1000
    title = f"wave {len(waves)} · {elapsed:.0f} s"
    return Panel(Group(status_table, "", lines), title=title, title_align="left")


def summary(changes: list[Change], waves: list[Wave]) -> Table:
    """A table with one row per wave: its first start, its last end, and the ages at start."""
    table = Table(title="Newest first: the last wave overtakes the ones before it")
    for heading in ("wave", "tasks", "first start", "last end", "age at start: median", "longest"):
        table.add_column(heading, justify="right")
    began = min((change.seen for change in changes), default=now_ms())
    all_starts = starts(changes)
    for wave in waves:
        own = [start for start in all_starts if start.task_id in wave.task_ids]
        ends = [
            change.number("taskUpdated") or change.seen
            for change in changes
            if change.task_id in wave.task_ids and change.after in ("SUCCESS", "FAILURE")
        ]
        if not own or not ends:
            table.add_row(str(wave.number), str(len(wave.task_ids)), "never", "", "", "")
            continue
        ages = [start.age for start in own]
        table.add_row(
            str(wave.number),
            str(len(wave.task_ids)),
            f"{max(0, min(s.taken for s in own) - began) / 1000:.1f} s",
            f"{(max(ends) - began) / 1000:.1f} s",
            age(median(ages)),
            age(max(ages)),
        )
    return table


def order_lines(verdict: Verdict, tolerance_ms: int) -> list[str]:
    """The result of the order check, line by line."""
    found = [
        f"{len(verdict.starts)} starts, {verdict.overtakes} of them while an older task was pending",
        f"longest time that a newer, visible task was passed over: {age(verdict.worst)}"
        f" (allowed: {age(tolerance_ms)}, for an index page of up to 100 ms"
        " and one query of the local index)",
    ]
    for wrong in verdict.violations[:5]:
        found.append(
            f"WRONG: {wrong.start.task_id} was started although {wrong.newer} was newer"
            f" and had been pending for {age(wrong.waited)}"
        )
    return found


def _waves_of(recent: list, waves: list[Wave]) -> str:
    by_wave = Counter(
        wave.number for start in recent for wave in waves if start.task_id in wave.task_ids
    )
    return ", ".join(f"{count} of wave {number}" for number, count in by_wave.most_common())
