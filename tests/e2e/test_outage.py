"""An outage of the downstream on the deployed template: no task fails, and the queue recovers within seconds."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from expectations import runs_on, wait_for

from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue

OUTAGE_SECONDS = 30
PER_SECOND = 8
#: Maximum number of calls. Twelve failed runs open the breaker while up to ten others run. Probes follow after 1 s, 2
#: s, and then every 4 s. Without the breaker, each task would be called multiple times.
MOST_CALLS = 60
#: Maximum recovery time: the 4 s between the last probes, plus an allowance for other load on the machine.
RECOVERY_SECONDS = 20


@dataclass
class Downstream:
    """Returns 502 while it is down and 200 otherwise, and records the times."""

    down: threading.Event = field(default_factory=threading.Event)
    rejected: list[float] = field(default_factory=list)
    served: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, *_: object) -> tuple[int, dict[str, str]]:
        down = self.down.is_set()
        with self.lock:
            (self.rejected if down else self.served).append(time.monotonic())
        return (502 if down else 200), {}


def test_no_task_fails_in_an_outage_and_recovery_takes_seconds(queue: DeployedQueue) -> None:
    queue.wait_until_idle()
    downstream = Downstream()
    downstream.down.set()
    with http_endpoint(downstream.respond) as url:
        runs_on(queue, url)
        tasks: list[str] = []
        end = time.monotonic() + OUTAGE_SECONDS
        while time.monotonic() < end:
            response = queue.create([{} for _ in range(PER_SECOND)])
            assert response["failed"] == []
            tasks += [task["taskId"] for task in response["created"]]
            time.sleep(1)
        recovered = time.monotonic()
        downstream.down.clear()
        # Every task must reach SUCCESS, so no task is in FAILURE.
        wait_for(queue, tasks, seconds=60)
        queue.wait_until_idle()

    seconds = downstream.served[0] - recovered
    calls = len(downstream.rejected)
    print(f"{len(tasks)} tasks, 0 FAILURE, {calls} calls in {OUTAGE_SECONDS} s, recovered after {seconds:.1f} s")
    assert calls <= MOST_CALLS
    assert seconds < RECOVERY_SECONDS
