"""freshq watch in a terminal on the deployed template.

``FRESHQ_SCREENSHOTS=1`` also writes docs/img/watch.svg for the documentation.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from expectations import create, put, wait_for
from terminal import Terminal, terminal
from test_operate import Run, expect, freshq

from local.emulator import local_environment
from local.queue import DeployedQueue
from local.waiting import now_ms
from project.paths import PROJECT

__all__ = ["freshq"]  # a fixture

PICTURE = PROJECT / "docs" / "img" / "watch.svg"
BARS = "▁▂▃▄▅▆▇█"

Watch = Callable[[], AbstractContextManager[Terminal]]


@pytest.fixture
def watch(queue: DeployedQueue, command: str) -> Watch:
    """Runs watch in a terminal of 100 columns and 30 rows."""
    line = [command, "watch", "--env", "dev", "--every", "1s"]
    return lambda: terminal(line, local_environment(queue.local_endpoint), 100, 30)


@pytest.fixture
def slow(queue: DeployedQueue) -> Iterator[None]:
    """Sets the run time to two seconds and the concurrency to five."""
    runner = {"kind": "simulated", "capacity": 5, "durationMs": 2000}
    before = queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner)})
    yield
    queue.replace_environment("process-tasks", before)


def box(screen: str, title: str) -> list[str]:
    """The rows inside the box with this title; empty until the box is complete."""
    lines = screen.splitlines()
    top = next((row for row, line in enumerate(lines) if f"┌ {title}" in line), len(lines))
    left = lines[top].index(f"┌ {title}") if top < len(lines) else 0
    below = [line[left:] for line in lines[top + 1 :]]
    bottom = next((row for row, line in enumerate(below) if line.startswith("└")), 0)
    return [line[1:].split("│")[0].strip() for line in below[:bottom]]


def put_failed(queue: DeployedQueue, error: str) -> str:
    """Writes a failed task as process-tasks does after the last attempt, and returns its id."""
    now = now_ms()
    task = f"order-{now}"
    times = {"taskCreated": {"N": str(now)}, "ttl": {"N": str(now // 1000 + 86_400)}}
    put(queue, {"taskId": {"S": task}, "taskStatus": {"S": "FAILURE"}, "lastError": {"S": error}, **times})
    return task


def shown(row: str) -> str:
    """The end of the task id in a row of pending tasks: their age, their shortened id and their payload."""
    found = re.search("…(\\S{8}) ", row)
    return found[1] if found else ""


def ends(task: str) -> str:
    return task[-8:]


def has_bars(screen: str, title: str) -> bool:
    return not set(BARS).isdisjoint("".join(box(screen, title)))


def test_the_view_follows_the_queue(queue: DeployedQueue, freshq: Run, watch: Watch, slow: None) -> None:
    queue.wait_until_idle()
    expect(freshq, 0, "pause", "--for", "10m", "--reason", "to watch")
    ids = create(queue, 3)
    pending = queue.count("PENDING")
    with watch() as view:
        view.wait_for("LifoQueue-dev", r"paused +.+ left: to watch", "breaker +closed", "processor +none")
        view.wait(lambda _: view.is_alternate and view.screen.cursor.hidden, "its own screen, without a cursor")
        view.wait(lambda now: f" pending: {pending}, oldest " in now and has_bars(now, "pending: "), "the depth and its curve")
        view.wait(lambda now: {shown(row) for row in box(now, "newest pending")[:3] if row} == {ends(id) for id in ids}, "3 tasks")
        view.wait(lambda now: any(box(now, "oldest pending")), "the oldest tasks")

        (newest,) = create(queue, 1)
        view.wait(lambda now: shown((box(now, "newest pending") or [""])[0]) == ends(newest), "the new task on top")
        expect(freshq, 0, "breaker", "open", "--for", "10m", "--reason", "a new release")
        view.wait_for("breaker +held open, .* left: a new release")
        assert "still paused" in expect(freshq, 0, "breaker", "close"), "no processor is woken during the pause"
        expect(freshq, 0, "resume")
        view.wait_for("running: [1-9]", "processor +active", "paused +no", "breaker +closed")
        view.wait(lambda now: has_bars(now, "age at start: "), "the ages at start as a curve")
        wait_for(queue, [*ids, newest])
        # The rates also count earlier tasks from the last minute.
        failed = put_failed(queue, "HTTP 422: no such order")
        row = f"{failed}: HTTP 422: no such order"
        view.wait(lambda now: any(line.endswith(row) for line in box(now, "newest failed")), "a failure with its error")
        # Deletes the task, because later tests count the failed tasks.
        queue.client("dynamodb").delete_item(TableName=queue.table, Key={"taskId": {"S": failed}})
        rate = r"succeeded (?!0\.0/s)\d+\.\d+/s"
        view.wait_for("running: 0", "age at start: last [0-9.]+m?s", "processor +none", rate, r"median run: 2\.\ds")


def test_the_view_fits_the_terminal_after_a_resize(watch: Watch) -> None:
    with watch() as view:
        view.wait_for("q ends the view")
        for columns, rows in ((80, 20), (80, 24), (120, 40), (20, 5), (100, 30)):
            view.resize(columns, rows)
            view.wait(
                lambda now: now.splitlines()[0].endswith("┐") and len(now.splitlines()[0]) == columns,
                f"a view of {columns} columns",
            )
            if rows >= 24:
                view.wait(lambda now: now.splitlines()[-1] == "q ends the view, ? shows the keys", f"a view of {rows} rows")


@pytest.mark.parametrize("keys", [b"q", b"\x1b", b"\x03"], ids=["q", "Esc", "Ctrl-C"])
def test_key_ends_the_view_and_restores_the_terminal(watch: Watch, keys: bytes) -> None:
    with watch() as view:
        before = view.settings
        view.wait_for("q ends the view")
        assert view.settings != before, "keys are read one at a time, without echo"
        view.press(keys)
        assert view.ended() == 0
        assert view.settings == before
        assert not view.is_alternate and not view.screen.cursor.hidden
        assert "samples taken: " in view.text


def test_keys_show_a_task_pause_and_resume(queue: DeployedQueue, freshq: Run, watch: Watch) -> None:
    queue.wait_until_idle()
    with watch() as view:
        view.wait_for("no task is pending")
        view.press(b"?")
        view.wait_for("resume the queue, after a confirmation")
        view.press(b"x")
        view.press(b"p")
        view.press(b"a new release\r")
        view.wait_for("running tasks finish", r"paused +.+ left: a new release \(by ")
        view.press(b"x")
        (task,) = create(queue, 1)
        view.wait_for(ends(task))
        view.press(b"\r")
        view.wait_for(task, "taskStatus +PENDING")
        view.press(b"x")
        view.press(b"r")
        view.wait_for(r"resume the queue\? \[y/N\]")
        view.press(b"y")
        view.wait_for("resumed: a processor was notified")
        wait_for(queue, [task])


def test_error_without_a_terminal_names_the_remedy(freshq: Run) -> None:
    finished = freshq("watch")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "--once" in finished.stderr


@pytest.mark.skipif("FRESHQ_SCREENSHOTS" not in os.environ, reason="writes the picture of the documentation")
def test_picture(queue: DeployedQueue, freshq: Run, watch: Watch, slow: None) -> None:
    """Sends bursts of more tasks than the runner can run concurrently."""
    queue.wait_until_idle()
    expect(freshq, 0, "pause", "--for", "10m", "--reason", "for the picture")
    expect(freshq, 0, "purge", "--confirm", queue.outputs["QueueTableName"])
    expect(freshq, 0, "resume")
    with watch() as view:
        for burst in (25, 5, 5, 40, 5, 5, 20, 5, 30, 3):
            if burst:
                create(queue, burst)
            if burst in (40, 20, 30):
                put_failed(queue, f"HTTP 422: {burst} pieces of A-17 are not in stock")
            end = time.monotonic() + 5
            view.wait(lambda _: time.monotonic() > end, "the next burst")
        PICTURE.write_text(view.svg("freshq watch --env dev"))
    expect(freshq, 0, "purge", "--confirm", queue.outputs["QueueTableName"])
