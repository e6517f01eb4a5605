"""Checks the table in docs/how-to/operate.md: each command needs exactly the permissions that it lists."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import commands
import pytest
from expectations import TRYING, failure_queue

from local.agents import DeployedAgents
from local.assembly import Assembly
from local.emulator import ACCOUNT, local_environment
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until
from project.paths import PROJECT

pytestmark = pytest.mark.skipif(os.environ.get("FRESHQ_IAM") == "0", reason="FRESHQ_IAM=0 disables IAM")

CONTROL = {"taskId": {"S": "#processor"}}
PAGE = PROJECT / "docs" / "how-to" / "operate.md"
DENIED = re.compile("AccessDenied|AuthorizationError|not authorized")
#: A command line per name in the "needed by" column. `<id>` is a message id, and `<table>` is the table name.
PROBES = {
    "status": "status",
    "pause": "pause --for 10s --reason probe",
    "resume": "resume",
    "limit": "limit --off",
    "breaker": "breaker close",
    "redrive": "redrive no-task",
    "wake": "wake",
    "cancel": "cancel no-task",
    "create": "create --id probe",
    "agents": "agents",
    "queues": "queues",
    "calls": "calls",
    "match": "match --call probe --criteria language=Probe",
    "call": "call probe --cancel",
    "purge": "purge --confirm <table>",
    "doctor": "doctor",
    "doctor --agents": "doctor --agents",
    "logs": "logs process-tasks",
    "messages": "messages",
    "messages --delete": "messages --delete <id>",
    "messages --retry if SQS moved the message": "messages --retry <id>",
    "messages --retry of a failed invocation": "messages --retry <id>",
}
#: Commands without a probe, because they use the same permissions as the probes. Only smoke reads the states of alarms,
#: but not on a local AWS.
UNPROBED = {"console", "agent", "smoke"}
#: Replaces the AWS CLI with the request that `aws logs tail` sends.
AWS_CLI = f"""#!{sys.executable}
import sys, boto3
boto3.client("logs").filter_log_events(logGroupName=sys.argv[3])
"""


def rows() -> list[tuple[list[str], list[str]]]:
    """The actions in each table row, and the commands that need them."""
    _, _, section = PAGE.read_text().partition("\n## Permissions\n")
    lines = re.findall(r"(?m)^\| (.+) \| .+ \| (.+) \|$", section.partition("\n## ")[0])
    read = [(re.findall(r"`(\w+:\w+)`", actions), re.split("[,;] ", needed.replace("`", ""))) for actions, needed in lines]
    return [(actions, needed) for actions, needed in read if actions and not UNPROBED.issuperset(needed)]


def applies(needed: list[str], probe: str) -> bool:
    """Whether a row applies to a probe."""
    return any(name == "every command" or f"{probe} ".startswith(f"{name} ") for name in needed)


@pytest.fixture
def operator(
    queue: DeployedQueue, agents: DeployedAgents, template: Assembly, command: str, tmp_path: Path
) -> Iterator[Any]:
    """A function that runs a probe with only these actions allowed and returns whether an action was denied."""
    iam, name = queue.client("iam"), "operator"
    trust = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    given = queue.client("sts").assume_role(
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{name}", RoleSessionName=TRYING
    )["Credentials"]
    aws = tmp_path / "aws"
    aws.write_text(AWS_CLI)
    aws.chmod(0o755)
    environment = local_environment(queue.local_endpoint) | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }

    def resume() -> None:
        expression = "REMOVE notifiedUntil, pausedUntil, pauseReason"
        queue.client("dynamodb").update_item(TableName=queue.table, Key=CONTROL, UpdateExpression=expression)

    def prepared(probe: str) -> str:
        """Prepares the message or task that a probe requires, undoes earlier probes, and returns the command line."""
        resume()
        line = PROBES[probe].replace("<table>", queue.table)
        if probe == "purge":
            settled = {"taskId": {"S": probe}, "taskStatus": {"S": "SUCCESS"}, "taskCreated": {"N": str(now_ms())}}
            queue.client("dynamodb").put_item(TableName=queue.table, Item=settled)
        if "<id>" not in line and probe != "doctor":
            return line
        body: dict[str, Any] = {"taskId": "probe"}
        url = queue.outputs["IngestDeadLetterQueueUrl"]
        if probe.endswith("a failed invocation"):
            function = queue.function("create-tasks")
            body = {"requestContext": {"functionArn": function}, "requestPayload": {"tasks": []}}
            url = failure_queue(queue, template, "createtasksfailures")
        sent = queue.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(body))
        return line.replace("<id>", sent["MessageId"])

    def is_denied(probe: str, actions: set[str]) -> bool:
        statement = {"Effect": "Allow", "Action": sorted(actions), "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=policy)
        ran = commands.run(command, environment, *prepared(probe).split())
        return DENIED.search(ran.stdout + ran.stderr) is not None

    queue.empty_queues()
    yield is_denied
    resume()
    queue.empty_queues()
    iam.delete_role_policy(RoleName=name, PolicyName=name)
    iam.delete_role(RoleName=name)


def test_each_command_needs_exactly_its_documented_permissions(operator: Callable[[str, set[str]], bool]) -> None:
    table = rows()
    named = {name for _, needed in table for name in needed}
    assert {name for name in named if not any(applies([name], probe) for probe in PROBES)} <= UNPROBED
    of = {
        probe: {action for actions, needed in table if applies(needed, probe) for action in actions} for probe in PROBES
    }
    assert [probe for probe in PROBES if operator(probe, of[probe])] == [], "the table lacks a permission"
    for actions, needed in table:
        probes = [probe for probe in PROBES if applies(needed, probe)]
        for action in actions:

            def is_needed(action: str = action, probes: list[str] = probes) -> bool:
                return any(operator(probe, of[probe] - {action}) for probe in probes)

            # A processor can still be active after an earlier probe. In that case, no command publishes a notification.
            wait_until(is_needed, 60, f"a command that needs {action}: {needed}", every=1)
