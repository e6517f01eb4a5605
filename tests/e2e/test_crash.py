"""Tasks are retried if their processor is killed while they run."""

from __future__ import annotations

import json
import os
import signal

import pytest
from expectations import PROCESSES, SHORT_LEASES, create, number, processes_of, sweep_until

from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until

TASKS = 10


@pytest.mark.skipif(not PROCESSES.is_dir(), reason="finds the function's process in /proc")
def test_the_tasks_of_a_killed_processor_run_again(queue: DeployedQueue) -> None:
    # A processor that an earlier test woke would run the tasks with its own settings.
    queue.wait_until_idle()
    queue.set_environment(
        "process-tasks",
        {"TASK_RUNNER": json.dumps({"kind": "simulated", "capacity": TASKS, "durationMs": 9000})},
        SHORT_LEASES,
    )
    began = now_ms()
    ids = create(queue, TASKS)
    wait_until(lambda: all(queue.status(task) == "TAKEN" for task in ids), 60, "all tasks TAKEN")
    victims = processes_of(queue, "process-tasks")
    assert victims, "no process of process-tasks"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)

    sweep_until(queue, lambda: {queue.status(task) for task in ids} == {"SUCCESS"}, "every task in SUCCESS")
    print(f"the tasks of a killed processor ended after {(now_ms() - began) / 1000:.0f} s")
    for task in ids:
        item = queue.item(task)
        assert item is not None
        assert (number(item, "attempts"), number(item, "totalAttempts")) == (2, 2)
        assert "the lease expired" in item["lastError"]["S"]
