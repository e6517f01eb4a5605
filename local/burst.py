"""Measures a burst of inserts. Wake-ups must be proportional to activations, not to tasks."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from local import deployment, emulator
from local.assembly import Assembly
from local.paths import STATE
from local.queue import DeployedQueue, chunks, wait_for_last_turn
from local.waiting import now_ms, wait_until

TASKS = 1000
#: Maximum number of process-tasks invocations that a burst can cause, excluding those from tail calls.
MOST_WAKE_UPS = 5
_AT_ONCE = 250
_DRAIN_SECONDS = 300


@dataclass(frozen=True)
class BurstFigures:
    """The invocations that one burst caused, and its duration."""

    tasks: int
    invocations: int
    tail_calls: int
    trigger_invocations: int
    seconds: float

    @property
    def wake_ups(self) -> int:
        """The number of process-tasks invocations that weren't caused by a tail call."""
        return self.invocations - self.tail_calls

    def __str__(self) -> str:
        return (
            f"a burst of {self.tasks} inserts caused {self.trigger_invocations} invocations of"
            f" trigger and {self.wake_ups} of process-tasks besides {self.tail_calls} tail calls"
            f" (at most {MOST_WAKE_UPS}), drained in {self.seconds:.1f} s"
        )


def measure(queue: DeployedQueue, tasks: int = TASKS) -> BurstFigures:
    """Inserts `tasks` tasks as fast as create-tasks accepts them, waits for SUCCESS and counts the invocations.

    During the burst, process-tasks has no reserved concurrency. Otherwise, throttled notifications would be delivered
    later and would not be counted.
    """
    functions, name = queue.client("lambda"), queue.function("process-tasks")
    reserved = functions.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"]
    functions.delete_function_concurrency(FunctionName=name)
    try:
        return _measure(queue, tasks)
    finally:
        functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)


def _measure(queue: DeployedQueue, tasks: int) -> BurstFigures:
    began = now_ms()
    before = queue.count("SUCCESS")
    for batch in chunks([{"payload": {"number": n}} for n in range(tasks)], _AT_ONCE):
        response = queue.create(batch)
        if response["failed"]:
            raise RuntimeError(f"create-tasks rejected: {response['failed'][:3]}")
    wait_until(
        lambda: queue.count("SUCCESS") >= before + tasks,
        _DRAIN_SECONDS,
        f"{tasks} tasks in SUCCESS",
        every=1.0,
    )
    drained = now_ms()
    wait_for_last_turn(queue, began)
    turns = queue.turns(began)
    return BurstFigures(
        tasks,
        queue.invocations("process-tasks", began),
        sum(bool(turn["tail_call"]) for turn in turns),
        queue.invocations("trigger", began),
        (drained - began) / 1000,
    )


def run(assembly: Assembly, console: Console) -> int:
    """Measures on a new local AWS and returns exit code 0 if there were no more than `MOST_WAKE_UPS` wake-ups."""
    with emulator.start(STATE / "burst") as local_aws:
        figures = measure(deployment.deploy(local_aws, assembly, DeployedQueue))
    console.print(str(figures))
    return 0 if figures.wake_ups <= MOST_WAKE_UPS else 1
