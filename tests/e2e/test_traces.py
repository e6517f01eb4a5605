"""A sampled task's trace on the deployed template, as the X-Ray daemon would receive it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from typing import Any

from expectations import runs_on, wait_for

from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue

TRACED = ("create-tasks", "trigger", "process-tasks")


@contextmanager
def traced(queue: DeployedQueue, daemon: str) -> Iterator[None]:
    """While the block runs, the functions sample every task and send segments to this daemon."""
    settings = {"traces": {"sampledTasks": 1}}
    before = {
        name: queue.set_environment(name, {"AWS_XRAY_DAEMON_ADDRESS": daemon}, settings) for name in TRACED
    }
    try:
        yield
    finally:
        for name, variables in before.items():
            queue.replace_environment(name, variables)


def next_segment(daemon: socket.socket) -> dict[str, Any]:
    """The next segment document; fails after the socket's timeout."""
    head, document = daemon.recv(65_536).decode().split("\n", 1)
    assert json.loads(head) == {"format": "json", "version": 1}
    return dict(json.loads(document))


def test_sampled_task_has_one_trace_from_creation_to_endpoint(queue: DeployedQueue) -> None:
    queue.wait_until_idle()
    headers: list[str | None] = []

    def respond(_: bytes, sent: Message) -> tuple[int, dict[str, str]]:
        headers.append(sent["X-Amzn-Trace-Id"])
        return 200, {}

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon, http_endpoint(respond) as url:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(60)
        host, port = daemon.getsockname()
        with traced(queue, f"{host}:{port}"):
            runs_on(queue, url)
            task_id = queue.create([{"payload": {"traced": True}}])["created"][0]["taskId"]
            wait_for(queue, [task_id], seconds=60)
            # Collects the segments of the creation and the run. Invocations have segments only if Lambda samples them.
            found: list[dict[str, Any]] = []
            while len(found) < 2:
                segment = next_segment(daemon)
                if segment["annotations"].get("task_id") == task_id:
                    found.append(segment)
            queue.wait_until_idle()

    created, run = found
    item = queue.item(task_id)
    assert item is not None
    assert item["traceHeader"]["S"] == f"Root={created['trace_id']};Parent={created['id']};Sampled=1"
    assert [call["aws"]["operation"] for call in created["subsegments"]] == ["PutItem"]
    assert (run["trace_id"], run["parent_id"]) == (created["trace_id"], created["id"])
    assert run["annotations"] == {"task_id": task_id, "attempt": 1, "response": "success"}
    take, call, settle = run["subsegments"]
    assert take["aws"]["operation"] == settle["aws"]["operation"] == "UpdateItem"
    assert call["namespace"] == "remote"
    assert headers == [f"Root={run['trace_id']};Parent={call['id']};Sampled=1"]
