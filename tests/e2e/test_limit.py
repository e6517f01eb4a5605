"""An operator's limit on starts, under load and during a crash of the processor."""

from __future__ import annotations

import functools
import json
import os
import signal
import threading
import time
from collections.abc import Iterator

import commands
import pytest
from expectations import PROCESSES, SHORT_LEASES, create, processes_of, runs_on, sweep_until

from local.emulator import local_environment
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue
from local.waiting import wait_until

TASKS = 400
RATE, CONCURRENCY = 5, 3
HEARTBEAT_SECONDS = 1


class Downstream:
    """The starts of runs, and the number of active runs at each start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0
        self.starts: list[tuple[float, int]] = []

    def respond(self, *_: object) -> tuple[int, dict[str, str]]:
        with self._lock:
            self._active += 1
            self.starts.append((time.monotonic(), self._active))
        time.sleep(0.2)
        with self._lock:
            self._active -= 1
        return 200, {}

    def since(self, began: float) -> list[int]:
        """The number of active runs at each start since `began`."""
        return [active for at, active in self.starts if at >= began]


@pytest.fixture
def downstream(queue: DeployedQueue) -> Iterator[Downstream]:
    queue.wait_until_idle()
    downstream = Downstream()
    with http_endpoint(downstream.respond) as url:
        runs_on(queue, url, SHORT_LEASES)
        yield downstream


@pytest.mark.skipif(not PROCESSES.is_dir(), reason="finds the function's process in /proc")
def test_limit_holds_under_load_and_through_a_crash(
    queue: DeployedQueue, downstream: Downstream, command: str
) -> None:
    freshq = functools.partial(commands.run, command, local_environment(queue.local_endpoint))
    tasks = create(queue, TASKS)
    wait_until(lambda: len(downstream.starts) > 2 * RATE, 60, "unlimited starts")

    limited = freshq(
        "limit", "--rate", str(RATE), "--concurrency", str(CONCURRENCY), "--for", "10m", "--reason", "a migration"
    )
    assert limited.returncode == 0 and "5 starts/s and 3 concurrent tasks" in limited.stdout, limited
    time.sleep(2 * HEARTBEAT_SECONDS)
    began = time.monotonic()
    time.sleep(5)
    for pid in processes_of(queue, "process-tasks"):
        os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    sweep_until(queue, lambda: len(downstream.since(killed + 1)) > RATE, "starts after the crash")
    time.sleep(5)
    starts, passed = downstream.since(began), time.monotonic() - began
    print(f"{len(starts)} starts in {passed:.1f} s at {RATE}/s, a crash included")
    assert 4 * RATE <= len(starts) <= RATE * (passed + 1)
    # Runs of the killed process may still be active in the downstream.
    assert max(starts) <= 2 * CONCURRENCY
    assert max(downstream.since(killed + 1)) <= CONCURRENCY

    shown = json.loads(freshq("status", "--output", "json").stdout)["limit"]
    assert (shown["ratePerSecond"], shown["concurrency"], shown["reason"]) == (RATE, CONCURRENCY, "a migration")
    assert freshq("limit", "--off").returncode == 0
    sweep_until(queue, lambda: {queue.status(task) for task in tasks} == {"SUCCESS"}, "every task in SUCCESS")
    assert json.loads(freshq("status", "--output", "json").stdout)["limit"] is None
