"""The demonstration of the task queue: waves of tasks, created while earlier tasks run."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from local import deployment, emulator, order
from local.assembly import Assembly
from local.console import serving
from local.contract import STATUSES
from local.history import Change, History
from local.queue import DeployedQueue, chunks, wait_for_last_turn
from local.waiting import now_ms
from project.paths import STATE

WAVES = 4
WAVE_SIZE = 75
TOTAL = WAVES * WAVE_SIZE
#: Share of the previous wave that must have started before the next wave is created.
NEXT_WAVE_SHARE = 0.25
#: Time without a task change after which the demonstration fails.
STALL_SECONDS = 60
_CREATE_AT_ONCE = 25
_LINE_EVERY_SECONDS = 1
_FINAL = ("SUCCESS", "FAILURE")


@dataclass
class Wave:
    number: int
    task_ids: set[str] = field(default_factory=set)


def run(assembly: Assembly, console: Console, freshq: str | None = None) -> int:
    """Starts a local AWS, deploys, runs the burst and reports. Always stops the local AWS.

    Given the path of `freshq`, its console shows the queue during the burst and, on a terminal, until you press Enter.

    Returns the exit code: 0 only if every task reached SUCCESS in the correct order. If the runner has failure rates,
    FAILURE is also allowed.
    """
    console.print("[bold]Starting the local AWS[/bold]")
    with emulator.start(STATE / "demo") as local_aws:
        queue = deployment.deploy(local_aws, assembly, DeployedQueue, lambda step: console.print(f"  {step}"))
        if freshq is None:
            return _burst(queue, console)
        with serving(freshq, queue.local_endpoint, "--allow-changes") as url:
            console.print(f"[bold]The console of this queue[/bold]: {url}")
            code = _burst(queue, console)
            if sys.stdin.isatty():
                console.input("The console is still open; Enter ends the demonstration. ")
            return code


def _burst(queue: DeployedQueue, console: Console) -> int:
    console.print(f"[bold]Creating {TOTAL} tasks in {WAVES} waves while they are processed[/bold]")
    began = now_ms()
    waves: list[Wave] = []
    rejected: list[dict[str, Any]] = []
    next_line = 0.0
    with History(queue) as history:
        changes = history.changes()
        while _should_go_on(changes, history.opened, waves):
            if _next_wave_is_due(changes, waves):
                waves.append(Wave(len(waves) + 1))
                rejected += _create(queue, waves[-1])
            changes = history.changes()
            if time.monotonic() >= next_line:
                next_line = time.monotonic() + _LINE_EVERY_SECONDS
                console.print(f"  {_line(changes, waves)}")
    return _report(queue, console, changes, waves, rejected, began)


def _next_wave_is_due(changes: list[Change], waves: list[Wave]) -> bool:
    if not waves:
        return True
    if len(waves) == WAVES:
        return False
    started = {start.task_id for start in order.starts(changes)}
    return len(started & waves[-1].task_ids) >= NEXT_WAVE_SHARE * WAVE_SIZE


def _create(queue: DeployedQueue, wave: Wave) -> list[dict[str, Any]]:
    """Creates a wave through create-tasks and returns the tasks that the function rejected."""
    rejected = []
    tasks = [{"payload": {"wave": wave.number, "number": n}} for n in range(WAVE_SIZE)]
    for batch in chunks(tasks, _CREATE_AT_ONCE):
        response = queue.create(batch)
        wave.task_ids.update(created["taskId"] for created in response["created"])
        rejected += response["failed"]
    return rejected


def _should_go_on(changes: list[Change], opened: int, waves: list[Wave]) -> bool:
    by_status = _counts(changes)
    if len(waves) == WAVES and sum(by_status[status] for status in _FINAL) >= TOTAL:
        return False
    last = changes[-1].seen if changes else opened
    return now_ms() - last <= STALL_SECONDS * 1000


def _counts(changes: list[Change]) -> Counter[str]:
    present = {change.task_id: change.after for change in changes}
    return Counter(status for status in present.values() if status is not None)


def _line(changes: list[Change], waves: list[Wave]) -> str:
    by_status = _counts(changes)
    states = ", ".join(f"{by_status[status]} {status}" for status in STATUSES)
    recent = [start.age for start in order.starts(changes)[-20:]]
    at_start = f", age at start {_age(median(recent))}" if recent else ""
    return f"wave {len(waves)}: {states}{at_start}"


def _report(
    queue: DeployedQueue,
    console: Console,
    changes: list[Change],
    waves: list[Wave],
    rejected: list[dict[str, Any]],
    began: int,
) -> int:
    verdict = order.judge(changes)
    by_status = _counts(changes)
    console.print(_summary(changes, waves))
    spent = (changes[-1].seen - began) / 1000 if changes else 0.0
    succeeded = by_status["SUCCESS"]
    console.print(f"{succeeded} of {TOTAL} tasks reached SUCCESS in {spent:.1f} s")
    wait_for_last_turn(queue, began)
    turns = queue.turns(began)
    tail_calls = sum(bool(turn.get("tail_call")) for turn in turns)
    console.print(f"{queue.invocations('process-tasks', began)} invocations of process-tasks,"
                  f" {tail_calls} of them through a tail call")
    _print_order(console, verdict)
    for rejection in rejected[:5]:
        console.print(f"[red]create-tasks rejected: {rejection}[/red]")
    unreliable = "rates" in json.loads(queue.environment("process-tasks")["TASK_RUNNER"])
    if unreliable:
        returned = sum(turn["retried"] + turn["busy"] for turn in turns)
        console.print(f"{by_status['FAILURE']} tasks failed; {returned} runs were returned for another try")
    ended = succeeded + (by_status["FAILURE"] if unreliable else 0)
    good = ended == TOTAL and verdict.held and not rejected
    verb = "ended" if unreliable else "succeeded"
    console.print(f"[bold green]Every task {verb}, newest first.[/bold green]" if good
                  else "[bold red]Failed: see above.[/bold red]")
    return 0 if good else 1


def _summary(changes: list[Change], waves: list[Wave]) -> Table:
    """A table with one row per wave: its first start, its last end, and the ages at start."""
    table = Table(title="Newest first: the last wave overtakes the ones before it")
    for heading in ("wave", "first start", "last end", "age at start: median", "longest"):
        table.add_column(heading, justify="right")
    began = min((change.seen for change in changes), default=now_ms())
    for wave in waves:
        own = [change for change in changes if change.task_id in wave.task_ids]
        starts = order.starts(own)
        ends = [change.seen for change in own if change.after in _FINAL]
        if not starts or not ends:
            table.add_row(str(wave.number), "never")
            continue
        first, last = min(start.taken for start in starts), max(ends)
        seconds = (f"{max(0, moment - began) / 1000:.1f} s" for moment in (first, last))
        ages = [start.age for start in starts]
        table.add_row(str(wave.number), *seconds, _age(median(ages)), _age(max(ages)))
    return table


def _print_order(console: Console, verdict: order.Verdict) -> None:
    console.print(f"{len(verdict.starts)} starts, {verdict.overtakes} of them while an older task was pending")
    console.print(f"longest time that a newer, visible task was passed over: {_age(verdict.worst)} (allowed:"
                  f" {_age(order.TOLERANCE_MS)}, for an index page of up to 100 ms and one query of the local index)")
    for wrong in verdict.violations[:5]:
        console.print(f"WRONG: {wrong.start.task_id} was started although {wrong.newer} was newer"
                      f" and had been pending for {_age(wrong.waited)}", markup=False)


def _age(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
