"""Examines permissions that functions have only with a runner or an event bus that dev does not use."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from local.decisions import Decisions
from local.emulator import ACCOUNT, REGION
from local.queue import DeployedQueue
from tests.removal.permissions import Permission, Role
from tests.removal.removal import Verdict, examine
from tests.removal.tasks import TaskProbes

#: The resource name for each action.
NAMES = {
    "secretsmanager:GetSecretValue": "the secret",
    "lambda:InvokeFunction": "the function",
    "events:PutEvents": "the bus",
}
_WORK = "def handler(event, context):\n    return {'outcome': 'success'}\n"


def examine_options(
    queue: DeployedQueue, probes: TaskProbes, decisions: Decisions
) -> Iterator[Verdict]:
    """Yields verdicts on the permissions that the constructs add for a secret, a function, and an event bus.

    Adds the permissions to the dev roles in the form that the template tests check (`docs/reference/iam.md`).
    """
    role = Role(queue, "process-tasks")
    secret = queue.client("secretsmanager").create_secret(Name="token", SecretString="Bearer 1")
    read = Permission("secretsmanager:GetSecretValue", secret["ARN"])
    invoke = Permission("lambda:InvokeFunction", _make_work(queue))
    with role.with_more(read, invoke):
        wanted = [probes.with_secret(read.resource), probes.with_function(invoke.resource)]
        yield from examine(queue, decisions, wanted, only=(read, invoke))
    publish = Permission("events:PutEvents", f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/default")
    with Role(queue, "count-shed").with_more(publish):
        yield from examine(queue, decisions, [probes.with_bus(publish.resource)], only=(publish,))


def _make_work(queue: DeployedQueue) -> str:
    """Creates a function that succeeds for every task, and returns its ARN."""
    functions = queue.client("lambda")
    role = functions.get_function_configuration(FunctionName=queue.function("count-shed"))["Role"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("work.py", _WORK)
    made = functions.create_function(
        FunctionName="work",
        Runtime="python3.13",
        Handler="work.handler",
        Role=role,
        Code={"ZipFile": code.getvalue()},
    )
    functions.get_waiter("function_active_v2").wait(FunctionName="work", WaiterConfig={"Delay": 1})
    arn: str = made["FunctionArn"]
    return arn
