"""Finds and fixes the cause of an alarm with only the alarm's text and the runbook.

Each test causes an alarm's condition. It then runs the command in the alarm's text, and the commands in the named
runbook section, exactly as printed.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from expectations import create, runs_on, wait_for
from on_call import OnCall, alarm

from local.agents import DeployedAgents, fresh
from local.assembly import Assembly
from local.crew import Crew, wait_for_call
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue
from local.waiting import wait_until


def test_the_downstream_is_unavailable(queue: DeployedQueue, tasks: Any) -> None:
    statuses = [502]
    with http_endpoint(lambda *_: (statuses[0], {})) as url:
        runs_on(queue, url)
        ids = create(queue, 40)
        on_call = tasks("breaker-open")
        wait_until(lambda: "breakerSince" in (queue.item("#processor") or {}), 30, "an open breaker")
        wait_until(lambda: bool(re.search(r"last response .*HTTP 502", on_call.first())), 30, "the response in the first command")
        found = on_call.look()
        assert re.search(r"summary +the downstream is unavailable, so only probes start", found), found
        assert re.search(r"circuit breaker +open since .*failed probes", found), found
        assert re.search(r"(?m)^\S+ .* HTTP 502", found), found

        statuses[0] = 200
        assert "the circuit breaker is closed" in on_call.do("freshq breaker close")
        wait_for(queue, ids)
        # The processor writes the breaker's state with its next heartbeat, or when it ends.
        queue.wait_until_idle()
        assert re.search(r"circuit breaker +closed", on_call.look())


def test_the_downstream_rejects_the_tasks(queue: DeployedQueue, tasks: Any) -> None:
    statuses = [422]
    with http_endpoint(lambda *_: (statuses[0], {})) as url:
        runs_on(queue, url)
        ids = create(queue, 6)
        wait_for(queue, ids, "FAILURE")
        on_call = tasks("failing")
        assert re.search(r"FAILURE \d+ .*HTTP 422", on_call.first()), "the first command groups the errors"
        found = on_call.look(id=ids[0])
        assert all(task in found for task in ids) and "HTTP 422" in found, found
        assert '"number": 0' in found, "the payload of one of them"

        assert "paused until" in on_call.do("freshq pause")
        statuses[0] = 200
        assert "resumed" in on_call.do("freshq resume")
        text = shlex.quote("HTTP 422")
        (dry, redrive) = [line for line in on_call.printed("- **Fix**", "- **Resolved**") if "redrive" in line]
        assert all(task in on_call.run(dry, text=text) for task in ids)
        assert [queue.status(task) for task in ids] == ["FAILURE"] * len(ids)
        on_call.run(f"{redrive} --yes", text=text)
        wait_for(queue, ids)


def test_the_downstream_rejects_the_credentials(queue: DeployedQueue, tasks: Any) -> None:
    statuses = [401]
    with http_endpoint(lambda *_: (statuses[0], {})) as url:
        runs_on(queue, url)
        ids = create(queue, 6)
        on_call = tasks("breaker-open")
        rejected = r"summary +the downstream rejects the queue's requests, so only probes start(?s:.*)HTTP 401"
        wait_until(lambda: bool(re.search(rejected, on_call.first())), 30, "the cause and the response in the first command")

        statuses[0] = 200
        assert "the circuit breaker is closed" in on_call.do("freshq breaker close")
        wait_for(queue, ids)
        queue.wait_until_idle()
        assert re.search(r"circuit breaker +closed", on_call.first())


def test_an_operator_paused_the_queue(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("paused")
    on_call.run('freshq pause --env <env> --for 10m --reason "a new release"')
    found = on_call.first()
    assert re.search(r"paused +until .*: a new release \(by \S+ at \d{4}-", found), found
    on_call.do("freshq resume")
    assert re.search(r"paused +no\b", on_call.first())


def test_the_downstream_is_slow(queue: DeployedQueue, tasks: Any) -> None:
    # One call of ten is rejected as busy. With several, the circuit breaker would open, and doctor would name it.
    runner = {"kind": "simulated", "capacity": 9, "durationMs": 3000}
    queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner)})
    on_call = tasks("oldest-pending")

    def has_the_rates() -> bool:
        # More tasks in each minute than the downstream processes. Tasks of earlier tests count for a minute.
        create(queue, 40)
        found = on_call.first()
        rates = re.search(r"created +(?:at least )?([\d.]+)/s(?s:.*)ended +([\d.]+)/s succeeded, ([\d.]+)/s failed", found)
        created, succeeded, failed = map(float, rates.groups()) if rates else (0.0, 0.0, 0.0)
        return created > 2 * (succeeded + failed) and bool(re.search(r"run time +median 3\.\ds", found))

    wait_until(has_the_rates, 90, "twice as many created as ended tasks, and the run time, in the first command")
    found = on_call.look()
    assert re.search(r"\d+ were created and \d+ ended in the last 60 s; runs take 3\.\ds at the median, .*the last response", found), found


def test_one_producer_floods_the_queue(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("oldest-pending")
    on_call.run('freshq pause --env <env> --for 10m --reason "a flood"')
    flood = [{"payload": {"producer": "import", "number": n}} for n in range(20)]
    queue.create([*flood, {"taskId": "an order", "payload": {"producer": "shop"}}])
    wait_until(lambda: bool(re.search(r"PENDING +21\b", on_call.first())), 30, "the depth")
    assert '"producer":"import"' in on_call.run("freshq list --env <env>").replace(": ", ":")
    dry = on_call.do("freshq cancel --env <env> --payload", text="import")
    assert "tasks to cancel: 20" in dry, dry
    done = on_call.run("freshq cancel --env <env> --payload import --yes")
    assert "cancelled: 20" in done, done
    on_call.run("freshq resume --env <env>")
    wait_for(queue, ["an order"])


def test_an_invalid_message_is_in_the_dead_letter_queue(queue: DeployedQueue, tasks: Any) -> None:
    sent = queue.client("sqs").send_message(
        QueueUrl=queue.outputs["IngestQueueUrl"], MessageBody=json.dumps({"taskId": "a task", "ttlSecond": 60})
    )
    on_call = tasks("ingest-dead-letters")
    wait_until(lambda: sent["MessageId"] in on_call.look(), 30, "the message with its reason")
    found = on_call.look()
    assert re.search(r"reason +.*ttlSecond", found), found
    (message,) = set(re.findall(r"(?m)^id +(\S+)", found))
    assert f"message {message} deleted" in on_call.do("freshq messages --env <env> --delete", id=message)
    assert "no messages in" in on_call.look()


def test_no_processor_can_start(queue: DeployedQueue, tasks: Any) -> None:
    name = queue.function("process-tasks")
    queue.client("lambda").put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    ids = create(queue, 3)
    on_call = tasks("oldest-pending")
    found = on_call.look()
    assert re.search(r"PENDING +[1-9]", found) and re.search(r"processor +none", found), found
    assert "ReservedConcurrentExecutions is 0, and 2 in the template" in found, found

    (remedy,) = set(re.findall(r"remedy: (aws lambda put-function-concurrency [^;]+);", found))
    on_call.run(remedy)
    # The created task's notification is lost. Its start marker prevents other notifications for 10 s.
    wait_until(lambda: "an earlier notification" not in on_call.do("freshq wake"), 30, "another notification", every=2)
    wait_for(queue, ids)
    assert "ReservedConcurrentExecutions" not in on_call.look()


def test_a_matching_agent_is_not_queued(agents: DeployedAgents, agents_template: Assembly, command: str) -> None:
    on_call = OnCall(agents, command, alarm(agents_template, "oldest-pending"))
    # The id `0…` is listed before the agents of other tests.
    crew, agent, call = Crew(agents), fresh("0"), fresh("call")
    profile = {"language": [crew.language], "gender": crew.gender}
    agents.command("register", agentId=agent, name="Ana", attributes=profile)
    agents.command("available", agentId=agent)
    crew.send(call)
    wait_for_call(agents, call, "pending")
    found = on_call.look()
    assert re.search(rf"{crew.language}, {crew.gender} +1 +0\b", found), found
    assert re.search(rf"{agent} +Ana +available .*language: {crew.language}", found), found

    on_call.do("freshq agent enqueue", agentId=agent)
    assigned = wait_for_call(agents, call, "assigned")["assignment"]
    assert assigned["agentId"] == agent
    agents.command("finish", agentId=agent, callId=call, ticket=assigned["ticket"])
    agents.command("leave", agentId=agent, to="offline")
