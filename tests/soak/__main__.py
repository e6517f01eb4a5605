"""``python -m tests.soak --minutes 30`` keeps a task queue on the local AWS under load and prints a table.

The schedules fire. In each fifth of the run, the downstream is unavailable for at most one minute, and a redeployment
stops the processor. The exit code is 1 if a task failed, a failure queue received a message, or an alarm fired that an
operator would have to ignore.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from local import assembly, deployment, emulator
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue, left_at_once
from local.stack import DeployedStack
from local.waiting import now_ms, wait_until
from project.paths import LOCAL_ASSEMBLY, STATE
from tests.soak.alarms import Watch, sums

RUN_SECONDS = 0.2
#: Load in tasks per second. Ten tasks run concurrently, so the downstream can serve 50 tasks per second.
TASKS_PER_SECOND = 20
TURN_MS = 10_000
PARTS = 5
#: The alarms that can fire because of the outages.
EXPECTED = {"breaker-open", "oldest-pending"}


@dataclass
class Downstream:
    """Returns 200, or 502 during an outage, and counts runs."""

    down: threading.Event = field(default_factory=threading.Event)
    runs: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, *_: object) -> tuple[int, dict[str, str]]:
        with self._lock:
            self.runs += 1
        time.sleep(RUN_SECONDS)
        return (502 if self.down.is_set() else 200), {}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    seconds = 60 * parser.parse_args().minutes
    with emulator.start(STATE / "soak", enforced=True) as running:
        template = assembly.read(LOCAL_ASSEMBLY, "LifoQueue-dev")
        queue = deployment.deploy(running, template, DeployedQueue)
        downstream = Downstream()
        with http_endpoint(downstream.respond) as url:
            runner = {"TASK_RUNNER": json.dumps({"kind": "http", "url": url})}
            queue.set_environment("process-tasks", runner, {"turnMs": TURN_MS, "loggedSuccesses": 0})
            watch = Watch(queue, template, now_ms())
            tasks = load(queue, downstream, watch, seconds)
            return report(queue, downstream, watch, tasks)


def load(queue: DeployedQueue, downstream: Downstream, watch: Watch, seconds: float) -> list[str]:
    """Creates tasks continuously, with outages and redeployments. Returns the ids after every task has ended."""
    tasks: list[str] = []
    began, redeployed = time.monotonic(), 0
    while (elapsed := time.monotonic() - began) < seconds:
        part, within = divmod(elapsed, seconds / PARTS)
        in_outage = seconds / PARTS / 4 < within < min(seconds / PARTS / 2, seconds / PARTS / 4 + 60)
        (downstream.down.set if in_outage else downstream.down.clear)()
        if within > 0.75 * seconds / PARTS and redeployed <= part:
            redeployed += 1
            redeploy(queue, redeployed)
        tasks += [task["taskId"] for task in queue.create([{}] * TASKS_PER_SECOND)["created"]]
        watch.look()
        time.sleep(max(0.0, 1 - (time.monotonic() - began - elapsed)))
    downstream.down.clear()
    wait_until(lambda: queue.count("PENDING") + queue.count("TAKEN") == 0, 600, "the end of every task", every=2)
    watch.look()
    return tasks


def redeploy(queue: DeployedQueue, number: int) -> None:
    """Replaces all functions' processes at once, as a deployment does. The emulator stops running invocations."""
    for binary in ("create-tasks", "trigger", "process-tasks", "sweep-tasks"):
        variables = queue.environment(binary) | {"REDEPLOYMENT": str(number)}
        # Doesn't use DeployedQueue.replace_environment, which waits until no processor is active.
        DeployedStack.replace_environment(queue, binary, variables)


def report(queue: DeployedQueue, downstream: Downstream, watch: Watch, tasks: list[str]) -> int:
    """Prints the table and returns the exit code."""
    ended = now_ms()
    turns = queue.turns(watch.began_ms)
    succeeded, failed = queue.count("SUCCESS"), queue.count("FAILURE")
    fired = watch.fired(ended)
    ignored = fired - EXPECTED
    discarded = messages(queue)
    throttles = sum(value for _, value in sums(queue, "Throttles", queue.function("process-tasks"), watch.began_ms))
    table = Table(title=f"{(ended - watch.began_ms) / 60_000:.0f} minutes of load")
    table.add_column("what")
    table.add_column("count", justify="right")
    for what, count in (
        ("tasks created", len(tasks)),
        ("tasks in SUCCESS", succeeded),
        ("tasks in FAILURE", failed),
        ("runs", downstream.runs),
        ("turns", len(turns)),
        ("tail calls", sum(bool(turn["tail_call"]) for turn in turns)),
        ("surplus invocations", sum(map(left_at_once, turns))),
        ("sweeps", queue.invocations("sweep-tasks", watch.began_ms)),
        ("throttles of process-tasks", int(throttles)),
        ("messages in failure queues", discarded),
        (f"alarms that the outages explain {sorted(fired & EXPECTED)}", len(fired & EXPECTED)),
        (f"alarms that an operator would have to ignore {sorted(ignored)}", len(ignored)),
    ):
        table.add_row(what, str(count))
    Console(highlight=False).print(table)
    return 0 if (succeeded, failed, discarded, len(ignored)) == (len(tasks), 0, 0, 0) else 1


def messages(queue: DeployedQueue) -> int:
    """The number of messages in all the stack's queues. All queues except failure queues are empty by now."""
    sqs, found = queue.client("sqs"), 0
    for page in sqs.get_paginator("list_queues").paginate(QueueNamePrefix=queue.stack):
        for url in page.get("QueueUrls", []):
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            found += sum(map(int, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()))
    return found


if __name__ == "__main__":
    sys.exit(main())
