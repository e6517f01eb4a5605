"""Runbook incidents in which a process crashes, or in which a person changes a setting of the deployed stack."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from expectations import PROCESSES, SHORT_LEASES, create, failure_queue, processes_of, sweep_until, wait_for
from on_call import OnCall, alarm

from local.agents import DeployedAgents, fresh
from local.assembly import Assembly
from local.crew import Crew, wait_for_call
from local.queue import DeployedQueue
from local.stack import DeployedStack
from local.waiting import wait_until


def mapping_of(stack: DeployedStack, binary: str) -> str:
    """The id of a function's event source mapping."""
    mappings = stack.client("lambda").list_event_source_mappings(FunctionName=stack.function(binary))
    [mapping] = mappings["EventSourceMappings"]
    return str(mapping["UUID"])


@contextmanager
def switched_off(stack: DeployedStack, binary: str) -> Iterator[None]:
    """Disables a function's event source mapping. Enables it at the end, even if the block fails."""
    client, mapping = stack.client("lambda"), mapping_of(stack, binary)
    client.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        yield
    finally:
        client.update_event_source_mapping(UUID=mapping, Enabled=True)


@contextmanager
def without_schedule(stack: DeployedStack, template: Assembly) -> Iterator[None]:
    """Disables the schedule of the stack's sweep. Enables it at the end."""
    client = stack.client("scheduler")
    [schedule] = template.resources("AWS::Scheduler::Schedule")
    name = stack.physical_id(schedule.logical_id)
    kept = ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
    settings = {key: value for key, value in client.get_schedule(Name=name).items() if key in kept}
    client.update_schedule(**settings, State="DISABLED")
    try:
        yield
    finally:
        client.update_schedule(**settings, State="ENABLED")


@pytest.mark.skipif(not PROCESSES.is_dir(), reason="finds the function's process in /proc")
def test_a_task_crashes_its_process(queue: DeployedQueue, tasks: Any) -> None:
    runner = {"kind": "simulated", "capacity": 1, "durationMs": 9000}
    queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner)}, SHORT_LEASES)
    [poison] = create(queue, 1)
    wait_until(lambda: queue.status(poison) == "TAKEN", 60, "the running task")
    for pid in processes_of(queue, "process-tasks"):
        os.kill(pid, signal.SIGKILL)

    on_call = tasks("process-tasks-errors")
    crashed = f"it probably crashed while it ran 1 tasks, the newest: {poison} "
    wait_until(lambda: crashed in on_call.first(), 60, "the suspect in the first command")
    on_call.subsection = "A task crashes its process"
    found = on_call.look(id=poison)
    assert re.search(rf"suspects +{poison} \(", found) and '"number": 0' in found, found

    on_call.do("freshq pause")
    with ThreadPoolExecutor(1) as terminal:
        cancelled = terminal.submit(on_call.do, "freshq cancel", id=poison)
        sweep_until(queue, cancelled.done, "the end of the command")
    assert "cancelled" in cancelled.result(), cancelled.result()
    on_call.do("freshq resume")
    assert queue.item(poison) is None
    assert re.search(r"suspects +none", on_call.look(id=poison))


def test_sweep_schedule_is_disabled(queue: DeployedQueue, template: Assembly, tasks: Any) -> None:
    on_call = tasks("sweep-missed")
    with without_schedule(queue, template):
        found = on_call.first()
        assert re.search(r'schedule .*State is "DISABLED", and "ENABLED" in the template', found), found
        assert re.search(r"remedy: aws scheduler get-schedule --name \S+ \| jq .*ENABLED", found), found
    assert "schedule" not in on_call.first()


def test_stream_reader_is_disabled(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("count-shed-stream-delay")
    with switched_off(queue, "count-shed"):
        found = on_call.first()
        assert re.search(r'event source mapping .*countshed.*State is "Disabled"', found, re.IGNORECASE), found
        on_call.remedy(found, "aws lambda update-event-source-mapping")
        assert "event source mapping" not in on_call.first()


def test_lambda_stops_the_tail_call(queue: DeployedQueue, tasks: Any) -> None:
    name = queue.function("process-tasks")
    queue.client("lambda").put_function_recursion_config(FunctionName=name, RecursiveLoop="Terminate")
    on_call = tasks("process-tasks-recursion")
    found = on_call.first()
    assert re.search(rf'function {name} .*RecursiveLoop is "Terminate", and "Allow"', found), found
    on_call.do("aws lambda put-function-recursion-config", name=name)
    assert "RecursiveLoop" not in on_call.first()


def test_ingest_mapping_is_disabled(queue: DeployedQueue, tasks: Any) -> None:
    on_call, task = tasks("ingest-delay"), fresh("sent")
    with switched_off(queue, "ingest-tasks"):
        message = json.dumps({"taskId": task, "payload": {}})
        queue.client("sqs").send_message(QueueUrl=queue.outputs["IngestQueueUrl"], MessageBody=message)
        found = on_call.first()
        assert re.search(r'event source mapping .*ingesttasks.*State is "Disabled"', found, re.IGNORECASE), found
        assert queue.status(task) is None
        on_call.remedy(found, "aws lambda update-event-source-mapping")
        wait_for(queue, [task])
        assert "event source mapping" not in on_call.first()


def test_failed_invocation_is_retried(queue: DeployedQueue, template: Assembly, tasks: Any) -> None:
    on_call, task = tasks("create-tasks-failures"), fresh("lost")
    function = queue.client("lambda").get_function_configuration(FunctionName=queue.function("create-tasks"))
    failed = {
        "requestContext": {"functionArn": function["FunctionArn"], "condition": "RetriesExhausted"},
        "requestPayload": {"tasks": [{"taskId": task}]},
        "responsePayload": {"errorMessage": "DynamoDB did not respond"},
    }
    failures = failure_queue(queue, template, "createtasksfailures")
    sent = queue.client("sqs").send_message(QueueUrl=failures, MessageBody=json.dumps(failed))
    wait_until(lambda: "DynamoDB did not respond" in on_call.first(), 30, "the reason in the first command")
    retried = on_call.do("freshq messages --env <env> --retry", id=sent["MessageId"])
    assert "sent again to" in retried, retried
    wait_for(queue, [task])
    assert "no messages in" in on_call.first()


def test_no_agent_has_the_criteria(agents: DeployedAgents, agents_template: Assembly, command: str) -> None:
    on_call = OnCall(agents, command, alarm(agents_template, "oldest-pending"))
    crew, call = Crew(agents), fresh("call")
    crew.send(call)
    wait_for_call(agents, call, "pending")
    unmatched = rf"{crew.language}, M +1 +no agent with these attributes was ever queued +{call} +\d+"
    assert re.search(unmatched, on_call.first()), on_call.first()
    found = on_call.look()
    assert re.search(rf"(?m)^{call} +{crew.language}, M +\d+", found), found
    assert f"the calls for {crew.language}, M: 1 pending calls, the oldest {call} for " in found, found

    agent = crew.register("Mia")
    crew.enqueue(agent)
    assert wait_for_call(agents, call, "assigned")["assignment"]["agentId"] == agent
    found = on_call.look()
    assert not re.search(rf"(?m)^{call} ", found) and f"the calls for {crew.language}" not in found, found


def test_agents_sweep_schedule_is_disabled(
    agents: DeployedAgents, agents_template: Assembly, command: str
) -> None:
    on_call = OnCall(agents, command, alarm(agents_template, "sweep-missed"))
    with without_schedule(agents, agents_template):
        found = on_call.first()
        assert re.search(r'schedule .*State is "DISABLED", and "ENABLED" in the template', found), found
    assert "schedule" not in on_call.first()


def test_call_intake_mapping_is_disabled(
    agents: DeployedAgents, agents_template: Assembly, command: str
) -> None:
    on_call = OnCall(agents, command, alarm(agents_template, "intake-delay"))
    crew, call = Crew(agents), fresh("call")
    with switched_off(agents, "match-calls"):
        crew.send(call)
        found = on_call.first()
        assert re.search(r'event source mapping .*matchcalls.*State is "Disabled"', found, re.IGNORECASE), found
        on_call.remedy(found, "aws lambda update-event-source-mapping")
        wait_for_call(agents, call, "pending")
        assert "event source mapping" not in on_call.first()
    agents.command("cancel-call", callId=call)


def test_an_invalid_call_is_in_the_dead_letter_queue(
    agents: DeployedAgents, agents_template: Assembly, command: str
) -> None:
    on_call = OnCall(agents, command, alarm(agents_template, "call-dead-letters"))
    crew, call = Crew(agents), fresh("call")
    agents.client("sqs").send_message(
        QueueUrl=agents.outputs["CallQueueUrl"],
        MessageBody=json.dumps({"callId": call, "criterias": {}}),
        MessageGroupId=f"{crew.language}#M",
        MessageDeduplicationId=call,
    )
    wait_until(lambda: call in on_call.first(), 60, "the message in the first command")
    found = next(part for part in on_call.first().split("\n\n") if call in part)
    assert re.search(r"reason +.*criterias", found), found
    (message,) = re.findall(r"(?m)^id +(\S+)", found)
    assert f"message {message} deleted" in on_call.do("freshq messages --agents --env <env> --delete", id=message)
    assert call not in on_call.first()
