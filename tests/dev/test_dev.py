"""`freshq dev` as a process: a queue on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import boto3
import pytest
from server import PATIENCE_SECONDS, Dev, Runner
from terminal import terminal

from local.waiting import wait_until
from project.captured import captured
from project.paths import PROJECT

HOUR = 3_600
PICTURE = PROJECT / "docs" / "img" / "dev.svg"


def now_ms() -> int:
    return int(time.time() * 1000)


def task(name: str, age_ms: int = 0) -> dict[str, Any]:
    return {"taskId": name, "taskCreated": now_ms() - age_ms}


def statuses(dev: Dev, status: str) -> set[str]:
    return {each["taskId"] for each in json.loads(dev.freshq("list", "--status", status, "--output", "json"))["tasks"]}


def test_newest_task_runs_first_regardless_of_its_writer(dev: Dev, downstream: Runner) -> None:
    dev.create(task("running", 9_000))
    assert downstream.next_call() == "running"

    dev.create(task("old", 4_000), task("older", 6_000))
    table = boto3.client(
        "dynamodb",
        endpoint_url=dev.url,
        region_name="eu-central-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    direct = {"taskId": "direct", "taskStatus": "PENDING"}
    numbers = {"taskCreated": now_ms() - 2_000, "ttl": now_ms() // 1000 + HOUR}
    item = {name: {"S": text} for name, text in direct.items()} | {
        name: {"N": str(number)} for name, number in numbers.items()
    }
    table.put_item(TableName="tasks", Item=item)
    dev.freshq("create", "--id", "by-command", "--payload", '{"n": 1}')
    assert statuses(dev, "pending") == {"old", "older", "direct", "by-command"}
    assert statuses(dev, "taken") == {"running"}

    downstream.end(5)
    assert [downstream.next_call() for _ in range(4)] == ["by-command", "direct", "old", "older"]
    dev.wait_for("succeeded +older")
    assert statuses(dev, "success") == {"running", "by-command", "direct", "old", "older"}
    assert table.scan(TableName="tasks", Select="COUNT")["Count"] == 6, "five tasks and the control item"


def test_an_insert_requests_a_wake_up(dev: Dev, downstream: Runner) -> None:
    def requested() -> int:
        return int(json.loads(dev.freshq("status", "--output", "json"))["wakeUpsRequested"])

    # The sweep does not request a wake-up for a paused queue.
    dev.freshq("pause", "--for", "1h", "--reason", "only the insert requests")
    before = requested()
    dev.create(task("first"))
    wait_until(lambda: requested() == before + 1, PATIENCE_SECONDS, "the request of the insert")
    dev.freshq("resume")
    assert downstream.next_call() == "first"
    downstream.end()
    dev.wait_for("succeeded +first")


@pytest.mark.parametrize("page", ["dev", "mqtt"])
def test_documented_requests_create_tasks(dev: Dev, page: str) -> None:
    text = (PROJECT / "docs" / "how-to" / f"{page}.md").read_text()
    bodies = re.findall(r"^ *curl -d '(.+)' http://127\.0\.0\.1:8347/tasks$", text, re.MULTILINE)
    assert bodies
    for body in bodies:
        status, response = dev.request("POST", "/tasks", body.encode())
        assert (status, len(json.loads(response)["created"])) == (200, 1), response


def test_the_endpoint_responds_as_create_tasks_does(dev: Dev) -> None:
    status, body = dev.request("POST", "/tasks", {"taskId": "a", "ttlSeconds": -1})
    assert status == 400
    assert json.loads(body)["failed"][0]["taskId"] == "a"
    assert "ttlSeconds" in json.loads(body)["failed"][0]["error"]
    for method, sent, expected, part in [
        ("POST", b"", 400, "the body is empty"),
        ("POST", b"{", 400, "not valid JSON"),
        ("GET", None, 405, "the method is GET; send POST"),
    ]:
        status, body = dev.request(method, "/tasks", sent)
        assert (status, part in json.loads(body)["error"]) == (expected, True), body


def test_web_pages_and_other_host_names_are_rejected(dev: Dev) -> None:
    for headers in ({"Origin": "https://example.com"}, {"Host": "example.com"}):
        for path in ("/", "/tasks"):
            status, body = dev.request("POST", path, {"taskId": "a"}, headers)
            assert status == 403, body
    status, _ = dev.request("GET", "/wrong-token/")
    assert status in (403, 404)
    console = next(line.split()[-1] for line in dev.lines if "console" in line)
    assert dev.request("GET", console.removeprefix(dev.url))[0] == 200
    assert statuses(dev, "pending") == set()


@pytest.mark.skipif(sys.platform != "linux", reason="the sockets of a process are in /proc")
def test_dev_listens_only_on_the_loopback_interface(dev: Dev) -> None:
    process = Path(f"/proc/{dev.process.pid}")
    opened = {str(each.readlink()) for each in (process / "fd").iterdir()}
    listening = []
    for version in ("tcp", "tcp6"):
        for row in (process / "net" / version).read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in opened:
                listening.append(fields[1].split(":")[0])
    assert listening == ["0100007F"], "127.0.0.1"


def test_tasks_survive_sigkill(command: str, downstream: Runner, folder: str) -> None:
    arguments = ("--runner", downstream.url, "--concurrency", "1", "--data", folder)
    with Dev.started(command, *arguments) as first:
        first.create(task("running", 9_000))
        assert downstream.next_call() == "running"
        first.create(task("pending"))
        in_use = captured([command, "dev", "--port", "0", *arguments])
        assert in_use.returncode == 3
        assert "in use by another freshq dev" in in_use.stderr
        first.end(signal.SIGKILL)
    downstream.end(3)
    with Dev.started(command, *arguments) as second:
        second.wait_for("returned +running .*freshq dev had ended")
        assert {downstream.next_call() for _ in range(2)} == {"running", "pending"}
        second.wait_for("succeeded +running")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_dev_and_returns_the_running_tasks(
    command: str, downstream: Runner, folder: str, sent: signal.Signals
) -> None:
    arguments = ("--runner", downstream.url, "--data", folder, "--max-attempts", "1")
    with Dev.started(command, *arguments) as first:
        first.create(task("running"))
        assert downstream.next_call() == "running"
        assert first.end(sent) == 0
        printed = "".join(first.lines)
        assert "returned   running  due in 0ms; freshq dev ended during the run" in printed
        assert "created 1, started 1, succeeded 0" in printed
    downstream.end(2)
    with Dev.started(command, *arguments) as second:
        assert downstream.next_call() == "running", "the attempt does not count"
        second.wait_for("succeeded +running")


def test_unread_output_stops_neither_the_queue_nor_its_end(command: str, downstream: Runner) -> None:
    with Dev.started(command, "--runner", downstream.url) as dev:
        dev.reads.clear()
        # A pipe holds 64 KiB, and the queue keeps 1,000 lines.
        for batch in range(40):
            dev.create(*(task(f"{batch}-{number}", age_ms=1_000) for number in range(100)))
        downstream.end(10_000)
        dev.create(task("newest"))
        while downstream.next_call() != "newest":
            pass
        dev.process.send_signal(signal.SIGTERM)
        assert dev.process.wait(timeout=PATIENCE_SECONDS) == 0
        dev.reads.set()


def test_failures_and_a_pause_are_printed(command: str, downstream: Runner) -> None:
    wrong = downstream.url.replace("127.0.0.1", "localhost") + "?key=hidden"
    with Dev.started(command, "--runner", wrong, "--ttl", "1h") as dev:
        dev.create(task("wrong"))
        assert downstream.next_call() == "wrong"
        downstream.end(status=422)
        dev.wait_for("failed +wrong +attempts: 1; ")
        dev.freshq("pause", "--for", "1h", "--reason", "deployment")
        dev.wait_for(r"the queue is paused \(freshq resume ends the pause\): .*deployment")
        dev.freshq("resume")
        dev.wait_for("the pause has ended")
        downstream.end()
        dev.freshq("redrive", "wrong")
        dev.wait_for("redriven +wrong")
        dev.wait_for("succeeded +wrong")
        assert "hidden" not in "".join(dev.lines)


def test_a_simulated_burst_ends_with_a_comparison(command: str) -> None:
    with Dev.started(command, "--simulate") as dev:
        assert dev.ended() == 0
        printed = "".join(dev.lines)
    assert "created 40, " in printed
    assert "newest first (freshq)" in printed
    assert "the same starts, oldest first" in printed


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "--runner <URL>"),
        (("--runner", "http://example.com/"), "url is http to"),
        (("--template", "package.json"), "not a CloudFormation template"),
        (("--simulate", "--data", "x"), "cannot be used with"),
        (("--simulate", "--concurrency", "0"), "not in 1..=900"),
    ],
)
def test_invalid_command_line_is_rejected(command: str, arguments: tuple[str, ...], part: str) -> None:
    ended = captured([command, "dev", *arguments])
    assert ended.returncode == 2
    assert part in ended.stderr


@pytest.mark.skipif("FRESHQ_SCREENSHOTS" not in os.environ, reason="writes the picture of the documentation")
def test_picture(command: str) -> None:
    with terminal([command, "dev", "--simulate"], dict(os.environ), 100, 30) as view:
        assert view.ended() == 0
        PICTURE.write_text(view.svg("freshq dev --simulate"))
