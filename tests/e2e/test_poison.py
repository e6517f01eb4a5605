"""Ten poison tasks do not affect ninety healthy tasks that use the same HTTP runner."""

from __future__ import annotations

import json
import threading
from collections import Counter

from expectations import create, number, runs_on, takes, wait_for

from local.history import History
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until

HEALTHY = 90
POISON = 10
ATTEMPTS = 4


class Legacy:
    """A downstream that fails for every poison task and succeeds for all others."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def respond(self, body: bytes, _: object) -> tuple[int, dict[str, str]]:
        poison = json.loads(body)["payload"]["poison"]
        with self._lock:
            self.calls["poison" if poison else "healthy"] += 1
        return (500 if poison else 200), {}


def test_poison_tasks_do_not_affect_healthy_tasks(queue: DeployedQueue, history: History) -> None:
    queue.wait_until_idle()
    legacy = Legacy()
    with http_endpoint(legacy.respond) as url:
        runs_on(queue, url, {"maxAttempts": ATTEMPTS, "retry": {"baseMs": 500, "maxMs": 2000}})
        began = now_ms()
        healthy = create(queue, HEALTHY, poison=False)
        # The poison tasks are the newest. A queue that always retried them first would never run other tasks.
        poison = create(queue, POISON, poison=True)
        wait_for(queue, healthy, seconds=300)
        served = now_ms()

        # A run that ends with HTTP 500 costs an attempt only if another task succeeds after it, so tasks keep arriving.
        def ended() -> bool:
            healthy.extend(create(queue, 1, poison=False))
            return all(queue.status(task) == "FAILURE" for task in poison)

        wait_until(ended, 300, "the end of the poison tasks", every=0.5)
        wait_for(queue, healthy, seconds=60)
        queue.wait_until_idle()

    print(
        f"the first {HEALTHY} healthy tasks succeeded in {(served - began) / 1000:.1f} s with {POISON}"
        f" poison ones; calls: {dict(legacy.calls)}"
    )
    # Runs without a success in between cost no attempt.
    assert POISON * ATTEMPTS <= legacy.calls["poison"] < 3 * POISON * ATTEMPTS
    assert legacy.calls["healthy"] == len(healthy)
    assert set(takes(history, healthy).values()) == {1}
    for task in poison:
        item = queue.item(task)
        assert item is not None
        assert number(item, "attempts") == ATTEMPTS
        assert "500" in item["lastError"]["S"]
