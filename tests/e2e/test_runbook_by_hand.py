"""Runbook incidents in which a person changes a resource that the stack needs, or another program writes tasks.

The queue of the `OnCall` app publishes to a custom event bus and sends a secret to its downstream.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apps
import pytest
from expectations import create, put, wait_for
from on_call import OnCall, alarm

from local import assembly
from local.assembly import Assembly
from local.emulator import Emulator
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until
from project.paths import STATE
from tests.removal.permissions import Permission, Role

STACK, BUS, SECRET = "OnCall", "orders", "legacy/token"
APP = """
import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { HttpAuth, LifoQueue, TaskRunner } from 'freshq';

const stack = new Stack(new App(), 'OnCall');
const queue = new LifoQueue(stack, 'queue', {
  runner: TaskRunner.http({
    url: 'https://legacy.example.com/validate',
    auth: HttpAuth.header({ secret: Secret.fromSecretNameV2(stack, 'token', 'legacy/token') }),
  }),
  taskEventsTo: EventBus.fromEventBusName(stack, 'bus', 'orders'),
  deletionProtection: false,
  removalPolicy: RemovalPolicy.DESTROY,
});
queue.exportOutputs();
"""


@dataclass
class Own:
    queue: DeployedQueue
    template: Assembly


@pytest.fixture(scope="module")
def own(local_aws: Emulator) -> Own:
    queue = apps.deployed(local_aws, STACK, APP)
    queue.client("events").create_event_bus(Name=BUS)
    queue.client("secretsmanager").create_secret(Name=SECRET, SecretString="Bearer right")
    return Own(queue, assembly.read(STATE / STACK.lower() / "cdk.out", STACK))


@pytest.fixture
def policy(queue: DeployedQueue) -> Iterator[Role]:
    """The role of sweep-tasks, whose policy is restored after the test. A late wake-up may start process-tasks."""
    role = Role(queue, "sweep-tasks")
    yield role
    role.restore()


def test_the_event_bus_is_deleted(own: Own, command: str) -> None:
    on_call = OnCall(own.queue, command, alarm(own.template, "count-shed-stream-delay"))
    assert "event bus" not in on_call.first()
    own.queue.client("events").delete_event_bus(Name=BUS)
    found = on_call.first()
    assert re.search(rf"event bus {BUS} .*: it does not exist", found), found
    on_call.remedy(found, "aws events create-event-bus")
    assert "event bus" not in on_call.first()


@pytest.mark.parametrize("wrong", [" ", "Bearer wrong"], ids=["empty", "another"])
def test_the_secret_of_the_downstream_is_wrong(own: Own, command: str, wrong: str) -> None:
    def respond(_: bytes, headers: Any) -> tuple[int, dict[str, str]]:
        return 200 if headers["Authorization"] == "Bearer right" else 401, {}

    def rejected() -> bool:
        found = on_call.first()
        last = re.search(r"last response .*(HTTP 401|secret \S+ contains no text)", found)
        return "so only probes start" in found and last is not None

    queue = own.queue
    on_call = OnCall(queue, command, alarm(own.template, "breaker-open"))
    runner = json.loads(queue.environment("process-tasks")["TASK_RUNNER"])
    queue.client("secretsmanager").put_secret_value(SecretId=SECRET, SecretString=wrong)
    with http_endpoint(respond) as url:
        before = queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner | {"url": url})})
        ids = create(queue, 4)
        wait_until(rejected, 60, "the response in the first command")
        found = on_call.run("freshq doctor --stack OnCall")
        assert "remedy: if the secret is wrong or empty, aws secretsmanager put-secret-value" in found, found
        on_call.remedy(found, "aws secretsmanager put-secret-value", value="Bearer right")
        # A new process has no cached value. An existing process would cache the rejected value for 30 s.
        queue.set_environment("process-tasks")
        on_call.run("freshq breaker close --stack OnCall")
        wait_for(queue, ids)
        queue.wait_until_idle()
        queue.replace_environment("process-tasks", before)


def test_the_policy_of_a_function_is_changed(queue: DeployedQueue, tasks: Any, policy: Role) -> None:
    on_call = tasks("sweep-tasks-errors")
    place = rf"policy \S+ of role {policy.name} \(.*\): "
    assert not re.search(place, on_call.first())
    (update,) = [there for there in policy.permissions if there.action == "dynamodb:UpdateItem"]
    with policy.without(update):
        found = on_call.first()
    assert re.search(rf"{place}it lacks dynamodb:UpdateItem, which the template allows", found), found
    with policy.with_more(Permission("dynamodb:DeleteItem", update.resource)):
        found = on_call.first()
    assert re.search(rf"{place}it allows dynamodb:DeleteItem, which the template does not", found), found

    policy.delete()
    found = on_call.first()
    assert re.search(rf"{place}it does not exist", found), found
    on_call.remedy(found, "aws iam put-role-policy")
    assert not re.search(place, on_call.first())
    # IAM again allows everything that the function needs.
    assert queue.invoke("sweep-tasks", {})["errors"] == 0


def test_setting_of_a_function_is_changed_manually(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("oldest-pending")
    assert "concurrency is" not in on_call.look()
    queue.set_environment("process-tasks", settings={"concurrency": 100})
    found = on_call.look()
    assert re.search(r"SETTINGS_PROCESS_TASKS differs: concurrency is 100, and 10 in the template", found), found
    # Stands in for the remedy's shell pipeline, which requires the AWS CLI and jq.
    ((value, name),) = set(re.findall(r"remedy: aws lambda get-function-configuration .* --arg v '(.+)' '\.Variables\.(\w+)=\$v' \| xargs", found))
    queue.set_environment("process-tasks", {name: value})
    assert "SETTINGS_PROCESS_TASKS" not in on_call.look()


def test_writer_sets_invalid_creation_times(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("oldest-pending")
    on_call.run('freshq pause --env <env> --for 10m --reason "a test"')
    created = {"in-seconds": int(time.time()), "tomorrow": now_ms() + 86_400_000}
    for task, at in created.items():
        payload = {"M": {"producer": {"S": "import"}}}
        put(queue, {"taskId": {"S": task}, "taskStatus": {"S": "PENDING"}, "taskCreated": {"N": str(at)}, "payload": payload})
    seconds = "its taskCreated is in seconds instead of milliseconds"
    wait_until(lambda: seconds in on_call.first(), 30, "the unit in the first command")
    found = on_call.look(id="in-seconds")
    assert f"taskCreated of task in-seconds is in seconds: {created['in-seconds']}" in found, found
    assert f"taskCreated of task tomorrow is in the future: {created['tomorrow']}, in 23h" in found, found
    assert '"producer": "import"' in on_call.do("freshq show", id="in-seconds")

    assert "tasks to cancel: 1" in on_call.do("freshq cancel --env <env> --older-than")
    on_call.run("freshq cancel --env <env> --older-than 366d --yes")
    on_call.do("freshq cancel <id>", id="tomorrow")
    assert "taskCreated" not in on_call.look()
