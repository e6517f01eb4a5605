"""Every log line in docs/reference/telemetry.md appears in the functions' logs with exactly the documented fields."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from expectations import NO_TABLE, create, put, sweep_until, wait_for

from local.agents import DeployedAgents, fresh
from local.contract import AGENT_LOG_LINES, LOG_FIELDS, LOG_LINES
from local.crew import Crew, status
from local.events import event
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue, wait_for_last_turn
from local.stack import DeployedStack, InvocationFailed
from local.waiting import now_ms, wait_until

#: Fields that are not documented: the name of the runtime's span.
NOT_PROMISED = {"span.name"}
#: The fields of every line. Without the setting `traces`, Lambda traces no invocation of the queues.
ALWAYS = set(LOG_FIELDS) - {"span.xrayTraceId"}


def flat(line: dict[str, Any]) -> set[str]:
    """The names of a line's fields, as Logs Insights names them."""
    names = set()
    for name, value in line.items():
        names |= {f"{name}.{inner}" for inner in value} if isinstance(value, dict) else {name}
    return names - NOT_PROMISED


def logged(stack: DeployedStack, promised: dict[str, Any], message: str, since_ms: int) -> list[dict]:
    """The lines with this message, from the logs of the functions that write it."""
    return [
        line
        for binary in promised["by"]
        for line in stack.log_messages(binary, since_ms)
        if line.get("message") == message
    ]


def expect_fields(
    stack: DeployedStack, promises: dict[str, dict[str, Any]], since_ms: int, again: Callable[[], object]
) -> None:
    """Checks that each documented line was logged, with exactly the documented fields.

    The emulator may log an invocation's last lines only during the next one, which `again` triggers.
    """

    def seen(message: str, promised: dict[str, Any]) -> set[str]:
        lines = logged(stack, promised, message, since_ms)
        return set().union(*map(flat, lines))

    def missing() -> dict[str, set[str]]:
        wanted = {message: {*ALWAYS, *line["fields"]} for message, line in promises.items()}
        left = {message: fields - seen(message, promises[message]) for message, fields in wanted.items()}
        return {message: fields for message, fields in left.items() if fields}

    deadline = time.monotonic() + 120
    while missing() and time.monotonic() < deadline:
        again()
        time.sleep(1)
    assert missing() == {}
    for message, promised in promises.items():
        assert seen(message, promised) == {*ALWAYS, *promised["fields"]}, message
        levels = {line["level"] for line in logged(stack, promised, message, since_ms)}
        assert levels == {promised["level"]}, message


def test_successful_runs_can_be_excluded_from_the_log(queue: DeployedQueue) -> None:
    began = now_ms()
    queue.set_environment("process-tasks", settings={"loggedSuccesses": 0})
    response = queue.create([{"payload": {}}, {"payload": {"simulate": {"outcome": "fail"}}}])
    done, failed = [task["taskId"] for task in response["created"]]
    wait_for(queue, [done])
    wait_for(queue, [failed], "FAILURE")
    wait_for_last_turn(queue, began)

    def runs() -> set[str]:
        return {run["task_id"] for run in logged(queue, LOG_LINES["run ended"], "run ended", began)}

    wait_until(lambda: failed in runs(), 20, "the line of the failed run")
    assert done not in runs()


def rejected_by_http(queue: DeployedQueue) -> str:
    """Runs a task that fails because the downstream responds with 422, and returns the task's id."""
    with http_endpoint(lambda *_: (422, {})) as url:
        with queue.changed("process-tasks", TASK_RUNNER=json.dumps({"kind": "http", "url": url})):
            [task] = create(queue, 1)
            wait_for(queue, [task], "FAILURE")
    return task


def test_task_queue_logs_the_documented_lines(queue: DeployedQueue) -> None:
    began = now_ms()
    rejected = rejected_by_http(queue)
    response = queue.create(
        [
            {"payload": {}},
            {"payload": {"simulate": {"outcome": "retry", "attempts": 1}}},
            {"payload": {"simulate": {"outcome": "fail"}}},
        ]
    )
    done, retried, failed = [task["taskId"] for task in response["created"]]
    expired = lose_a_lease(queue)
    later = not_due(queue)
    key = fresh("key")
    tasks = [{"taskId": done}, *({"key": key, "sequence": sequence} for sequence in (2, 1))]
    queue.client("sqs").send_message(
        QueueUrl=queue.outputs["IngestQueueUrl"], MessageBody=json.dumps({"taskId": f"{done}-sent"})
    )
    wait_for(queue, [failed], "FAILURE")
    with queue.changed("create-tasks", TASK_TABLE_NAME=NO_TABLE):
        uncreated = queue.create([{"payload": {}}])
    assert len(uncreated["failed"]) == 1, uncreated

    def again() -> None:
        queue.invoke("sweep-tasks", {})
        queue.create(tasks)
        queue.invoke("count-shed", event("count-shed"))
        queue.invoke("trigger", event("trigger-notification"))
        queue.client("sqs").send_message(
            QueueUrl=queue.outputs["IngestQueueUrl"], MessageBody=json.dumps(tasks)
        )

    again()
    queue.client("dynamodb").delete_item(TableName=queue.table, Key={"taskId": {"S": later}})
    wait_for(queue, [done, retried, expired, f"{done}-sent"], seconds=60)
    wait_for_last_turn(queue, began)
    expect_fields(queue, LOG_LINES, began, again)

    for message in ("create", "ingest"):
        lines = logged(queue, LOG_LINES[message], message, began)
        assert {line["superseded_keys"] for line in lines if line["superseded"] > 0} == {key}

    runs = logged(queue, LOG_LINES["run ended"], "run ended", began)
    ended = {(run["task_id"], run["attempt"]): (run["outcome"], run["response"]) for run in runs}
    assert ended[done, 1] == ("succeeded", "success")
    assert ended[retried, 1] == ("retry", "retry")
    assert ended[retried, 2] == ("succeeded", "success")
    assert ended[failed, 1] == ("failed", "failure")
    assert ended[rejected, 1] == ("failed", "failure")
    assert {run["task_id"]: run["http_status"] for run in runs if "http_status" in run} == {rejected: 422}
    for run in runs:
        assert 0 <= run["duration_ms"] < 60_000 and run["age_ms"] >= 0, run
        returned = run["outcome"] in {"retry", "busy", "unavailable", "cut_off"}
        assert ("due_ms" in run) == returned, run


def lose_a_lease(queue: DeployedQueue) -> str:
    """Writes a task as if its processor had crashed, so that the sweep returns the task. Returns the task's id."""
    task_id = fresh("lost")
    put(
        queue,
        {
            "taskId": {"S": task_id},
            "taskStatus": {"S": "TAKEN"},
            "taskCreated": {"N": str(now_ms() - 60_000)},
            "ttl": {"N": str(int(time.time()) + 600)},
            "attempts": {"N": "1"},
            "totalAttempts": {"N": "1"},
            "leaseToken": {"S": "0b0ef4f8-6f0f-4d6e-8a3a-2d2f0d3a6b11"},
            "leaseUntil": {"N": str(now_ms() - 60_000)},
        },
    )
    return task_id


def not_due(queue: DeployedQueue) -> str:
    """Writes a pending task that is not due for a minute, and returns its id."""
    task_id = fresh("later")
    put(
        queue,
        {
            "taskId": {"S": task_id},
            "taskStatus": {"S": "PENDING"},
            "taskCreated": {"N": str(now_ms())},
            "ttl": {"N": str(int(time.time()) + 600)},
            "notBefore": {"N": str(now_ms() + 60_000)},
        },
    )
    return task_id


def test_agents_queue_logs_the_documented_lines(agents: DeployedAgents) -> None:
    began = now_ms()
    crew = Crew(agents)
    (agent,) = crew.queued("Ida")
    with agents.changed("agent-desk", {"callLeaseMs": 1000}):
        attended = crew.assigned()["callId"]
    late = fresh("call")
    crew.send(late)
    wait_until(lambda: agents.command("call", callId=late)["status"] == "pending", 20, "the pending call")
    assert agents.command("enqueue", agentId=agent)["changed"] is False, "the agent attends a call"

    def ended() -> bool:
        call = agents.command("call", callId=late)["status"]
        return (status(agents, agent), call) == ("available", "expired")

    with agents.changed("sweep-agents", {"maxWaitMs": 1000}):
        sweep_until(agents, ended, "the end of the agent's call and of the pending one")
    with agents.changed("sweep-agents", AGENT_TABLE_NAME=NO_TABLE):
        with pytest.raises(InvocationFailed):
            agents.invoke("sweep-agents", {})

    def again() -> None:
        agents.invoke("sweep-agents", {})
        agents.command("queues")
        crew.send(fresh("call"))

    expect_fields(agents, AGENT_LOG_LINES, began, again)

    def about(message: str) -> list[dict]:
        return logged(agents, AGENT_LOG_LINES[message], message, began)

    assert {"agent": agent, "call": attended}.items() <= about("assignment published")[0].items()
    assert [line["agent"] for line in about("call lease expired")] == [agent]
    assert late in [line["call"] for line in about("expired call sent to the dead-letter queue")]
    commands = [line["command"] for line in about("command") if line.get("agent") == agent]
    assert commands[:4] == ["register", "available", "enqueue", "enqueue"]


def test_the_output_has_the_url_of_the_deployed_dashboard(deployed: DeployedQueue) -> None:
    name = deployed.outputs["DashboardUrl"].rpartition("/")[2]
    response = deployed.client("cloudwatch").get_dashboard(DashboardName=name)
    (graph,) = [
        widget["properties"]
        for widget in json.loads(response["DashboardBody"])["widgets"]
        if widget["properties"].get("title") == "Oldest pending task (s)"
    ]
    assert graph["metrics"][0][:4] == ["freshq", "OldestPendingSeconds", "Queue", deployed.table]
