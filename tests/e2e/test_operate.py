"""The operators' command, freshq, on the deployed template."""

from __future__ import annotations

import functools
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import commands
import pytest
from expectations import create, number, takes, wait_for

from local.emulator import local_environment
from local.history import History
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def freshq(queue: DeployedQueue, command: str) -> Iterator[Run]:
    """Runs a verb on the deployed queue without a terminal. After the test, ends any pause and closes the breaker."""
    run = functools.partial(commands.run, command, local_environment(queue.local_endpoint))
    yield run
    run("resume")
    run("breaker", "close")


def expect(run: Run, code: int, *arguments: str) -> str:
    """Runs a verb, expects this exit code, and returns the output."""
    finished = run(*arguments)
    assert finished.returncode == code, (finished.stdout, finished.stderr)
    return finished.stdout


def status(run: Run) -> dict[str, Any]:
    return json.loads(expect(run, 0, "status", "--output", "json"))


def test_pause_keeps_new_tasks_pending_and_resume_runs_them_immediately(
    queue: DeployedQueue, freshq: Run
) -> None:
    queue.wait_until_idle()
    assert "maintenance" in expect(freshq, 0, "pause", "--for", "10m", "--reason", "maintenance")
    began = now_ms()
    ids = create(queue, 5)
    wait_until(lambda: queue.invocations("trigger", began) > 0, 20, "the trigger")
    time.sleep(3)
    assert [queue.status(task) for task in ids] == ["PENDING"] * 5

    now = status(freshq)
    assert now["queue"] == "LifoQueue-dev"
    assert now["paused"]["reason"] == "maintenance"
    assert 500_000 < now["paused"]["remainingMs"] <= 600_000
    assert now["pending"] == {"count": 5, "exact": True}
    assert 3_000 <= now["oldestPending"]["ageMs"] < 600_000
    assert now["processor"] is None
    assert now["wakeUpsRequested"] >= 1
    shorter = expect(freshq, 1, "pause", "--for", "1m", "--reason", "shorter")
    assert "a longer pause exists" in shorter
    assert "the queue is paused" in expect(freshq, 1, "wake")
    assert [queue.status(task) for task in ids] == ["PENDING"] * 5

    resumed = now_ms()
    assert expect(freshq, 0, "resume").startswith("resumed: a processor was notified\n")
    # No sweep runs in this test, so only the notification can start a processor.
    wait_until(lambda: any(queue.status(task) != "PENDING" for task in ids), 60, "a start")
    print(f"the first task started {now_ms() - resumed} ms after resume")
    wait_for(queue, ids)
    assert status(freshq)["paused"] is None


def test_a_task_that_failed_is_redriven_and_succeeds(
    queue: DeployedQueue, freshq: Run, history: History
) -> None:
    with http_endpoint(lambda *_: (422, {})) as url:
        with queue.changed("process-tasks", TASK_RUNNER=json.dumps({"kind": "http", "url": url})):
            one, *others = ids = create(queue, 3)
            wait_for(queue, ids, "FAILURE")
            queue.wait_until_idle()
    assert status(freshq)["failed"]["count"] >= 3

    response = expect(freshq, 1, "redrive", one, "unknown", "--ttl", "30m")
    assert [line.split(maxsplit=1)[1] for line in response.splitlines()[:-1]] == ["redriven", "not found"]
    wait_for(queue, [one])
    item = queue.item(one)
    assert item is not None and number(item, "attempts") == 1
    assert takes(history, [one]) == {one: 2}
    assert [queue.status(task) for task in others] == ["FAILURE"] * 2
    assert "not redriven: it is SUCCESS" in expect(freshq, 1, "redrive", one)

    queue.wait_until_idle()
    assert "use --yes" in freshq("redrive", "--all").stderr
    assert [queue.status(task) for task in others] == ["FAILURE"] * 2
    all_failed = json.loads(expect(freshq, 0, "redrive", "--all", "--yes", "--output", "json"))
    assert all_failed["redriven"] >= 2 and all_failed["wake"] == "published"
    wait_for(queue, others)


def test_a_cancelled_task_never_runs(queue: DeployedQueue, freshq: Run, history: History) -> None:
    queue.wait_until_idle()
    expect(freshq, 0, "pause", "--for", "10m", "--reason", "to cancel in peace")
    unwanted, *wanted = create(queue, 3)
    assert expect(freshq, 0, "cancel", unwanted).splitlines()[0].split() == [unwanted, "cancelled"]
    assert "not found" in expect(freshq, 1, "cancel", unwanted)
    expect(freshq, 0, "resume")
    wait_for(queue, wanted)
    queue.wait_until_idle()
    assert queue.status(unwanted) is None
    assert takes(history, [unwanted, *wanted]) == dict.fromkeys(wanted, 1)
    assert "it is SUCCESS" in expect(freshq, 1, "cancel", wanted[0])


def test_only_probes_start_while_an_operator_holds_the_breaker_open(queue: DeployedQueue, freshq: Run) -> None:
    queue.wait_until_idle()
    assert "held open until" in expect(freshq, 0, "breaker", "open", "--for", "10m", "--reason", "a new release")
    ids = create(queue, 12)

    def succeeded() -> list[str]:
        return [task for task in ids if queue.status(task) == "SUCCESS"]

    wait_until(lambda: len(succeeded()) >= 2, 20, "two probes")
    shown = status(freshq)
    assert shown["breaker"]["reason"] == "a new release" and shown["breaker"]["heldUntil"]
    assert shown["taken"]["count"] <= 1
    assert len(succeeded()) < len(ids)

    assert expect(freshq, 0, "breaker", "close").startswith("the circuit breaker is closed; ")
    wait_for(queue, ids)
    queue.wait_until_idle()
    assert status(freshq)["breaker"] is None


def test_tasks_from_a_file_are_created_once_and_listed_shown_exported_and_purged(
    queue: DeployedQueue, freshq: Run, tmp_path: Path
) -> None:
    queue.wait_until_idle()
    expect(freshq, 0, "pause", "--for", "10m", "--reason", "to look at pending tasks")
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps({"payload": {"line": line}}) + "\n" for line in range(1, 31)))
    assert expect(freshq, 0, "create", "--file", str(tasks)).splitlines()[0] == "created: 30"
    again = expect(freshq, 0, "create", "--file", str(tasks))
    assert again.splitlines()[0] == "created: 0; already existed, unchanged: 30"

    listed = json.loads(expect(freshq, 0, "list", "--limit", "12", "--output", "json"))
    rest = json.loads(expect(freshq, 0, "list", "--limit", "50", "--after", listed["after"], "--output", "json"))
    ids = [task["taskId"] for task in listed["tasks"] + rest["tasks"]]
    assert len(listed["tasks"]) == 12 and len(ids) == len(set(ids)) == 30 and rest["after"] is None
    ages = [task["ageMs"] for task in listed["tasks"]]
    assert ages == sorted(ages)

    view = expect(freshq, 0, "watch", "--once")
    assert "pending: 30" in view and "to look at pending tasks" in view and ids[0] in view

    shown = expect(freshq, 0, "show", ids[0])
    assert '"line": ' in shown and "expires unless it started" in shown
    lines = [json.loads(line) for line in expect(freshq, 0, "export", "--status", "pending").splitlines()]
    assert sorted(line["payload"]["line"] for line in lines) == list(range(1, 31))

    assert freshq("purge").returncode == 2, "there is no terminal for the confirmation"
    assert "nothing was deleted" in expect(freshq, 4, "purge", "--confirm", "another-table")
    assert "freshq resume ends the pause" in expect(freshq, 0, "purge", "--confirm", queue.outputs["QueueTableName"])
    assert [queue.status(task) for task in ids] == [None] * 30


def test_smoke_fails_if_the_downstream_rejects_its_tasks_and_deletes_them(queue: DeployedQueue, freshq: Run) -> None:
    queue.wait_until_idle()
    finished = freshq("smoke", "--yes", "--payload", '{"simulate": {"outcome": "fail"}}', "--output", "json")
    checks = {check["name"]: check for check in json.loads(finished.stdout)["checks"]}
    failed = {name for name, check in checks.items() if check["state"] == "FAILED"}
    assert finished.returncode == 1 and "success" in failed and failed <= {"success", "doctor"}, checks
    assert checks["success"]["note"].startswith("0 of 43 tasks succeeded within ")
    assert not [task for task in queue.statuses() if task.startswith("freshq-smoke-")]
    # Otherwise, doctor finds in later tests that most tasks of the last minute failed.
    wait_for(queue, create(queue, 60))


def test_an_error_is_one_line(freshq: Run) -> None:
    missing = freshq("status", "--env", "nowhere")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert "stack LifoQueue-nowhere does not exist in account 000000000000, us-east-1 (is it deployed" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1
