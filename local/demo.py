"""The demonstration of the task queue: waves of tasks, created while earlier tasks run."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from local import order, progress
from local.assembly import Assembly
from local.console import serving
from local.display import Display, deployed
from local.history import Change, History
from local.progress import Wave
from local.queue import DeployedQueue, chunks, wait_for_last_turn
from local.waiting import now_ms

WAVES = 4
WAVE_SIZE = 75
#: Share of the previous wave that must have started before the next wave is created.
NEXT_WAVE_SHARE = 0.25
#: Time without a task change after which the demonstration fails.
STALL_SECONDS = 60
_CREATE_AT_ONCE = 25
_FINAL = ("SUCCESS", "FAILURE")


def run(assembly: Assembly, console: Console, freshq: str | None = None) -> int:
    """Starts a local AWS, deploys, runs the burst and reports. Always stops the local AWS.

    Given the path of `freshq`, its console shows the queue during the burst and, on a terminal, until you press Enter.

    Returns the exit code: 0 only if every task reached SUCCESS in the correct order. If the runner has failure rates,
    FAILURE is also allowed.
    """
    with deployed("demo", console, assembly, DeployedQueue) as queue:
        if freshq is None:
            return _burst(queue, console)
        with serving(freshq, queue.local_endpoint, "--allow-changes") as url:
            console.print(f"[bold]The console of this queue[/bold]: {url}")
            code = _burst(queue, console)
            if sys.stdin.isatty():
                console.input("The console is still open; Enter ends the demonstration. ")
            return code


def _burst(queue: DeployedQueue, console: Console) -> int:
    total = WAVES * WAVE_SIZE
    console.print(f"[bold]Creating {total} tasks in {WAVES} waves while they are processed[/bold]")
    began = now_ms()
    waves: list[Wave] = []
    with History(queue) as history, Display(console, total) as display:
        rejected: list[dict[str, Any]] = []
        changes = history.changes()
        while _should_go_on(changes, history.opened, waves, total):
            if _next_wave_is_due(changes, waves):
                waves.append(Wave(len(waves) + 1))
                rejected += _create(queue, waves[-1])
            changes = history.changes()
            display.show(changes, waves)
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


def _should_go_on(changes: list[Change], opened: int, waves: list[Wave], total: int) -> bool:
    by_status = progress.counts(changes)
    if len(waves) == WAVES and sum(by_status[status] for status in _FINAL) >= total:
        return False
    last = changes[-1].seen if changes else opened
    if now_ms() - last > STALL_SECONDS * 1000:
        return False
    return True


def _report(
    queue: DeployedQueue,
    console: Console,
    changes: list[Change],
    waves: list[Wave],
    rejected: list[dict[str, Any]],
    began: int,
) -> int:
    total = WAVES * WAVE_SIZE
    verdict = order.judge(changes)
    by_status = progress.counts(changes)
    console.print(progress.summary(changes, waves))
    spent = (changes[-1].seen - began) / 1000 if changes else 0.0
    succeeded = by_status["SUCCESS"]
    console.print(f"{succeeded} of {total} tasks reached SUCCESS in {spent:.1f} s"
                  f" ({succeeded / spent if spent else 0:.1f} a second)")
    wait_for_last_turn(queue, began)
    turns = queue.turns(began)
    tail_calls = sum(bool(turn.get("tail_call")) for turn in turns)
    console.print(f"{queue.invocations('process-tasks', began)} invocations of process-tasks,"
                  f" {tail_calls} of them through a tail call")
    for sentence in progress.order_lines(verdict, order.TOLERANCE_MS):
        console.print(sentence)
    for rejection in rejected[:5]:
        console.print(f"[red]create-tasks rejected: {rejection}[/red]")
    unreliable = "rates" in json.loads(queue.environment("process-tasks")["TASK_RUNNER"])
    if unreliable:
        returned = sum(turn["retried"] + turn["busy"] for turn in turns)
        console.print(f"{by_status['FAILURE']} tasks failed; {returned} runs were returned for another try")
    ended = succeeded + (by_status["FAILURE"] if unreliable else 0)
    good = ended == total and verdict.held and not rejected
    verb = "ended" if unreliable else "succeeded"
    console.print(f"[bold green]Every task {verb}, newest first.[/bold green]" if good
                  else "[bold red]Failed: see above.[/bold red]")
    return 0 if good else 1
