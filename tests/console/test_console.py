"""Tests `freshq console` in a real browser, on a local AWS with both stacks. Run with `make test-console`.

`browser.test.ts` controls the browser. This file creates the tasks and calls that `browser.test.ts` expects.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import built_freshq

from local import assembly, console, deployment, emulator
from local.agents import DeployedAgents
from local.emulator import Emulator, local_environment
from local.queue import DeployedQueue
from local.waiting import now_ms
from project.paths import LOCAL_ASSEMBLY, NODE_BIN, PROJECT, STATE

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Number of failed tasks to create, by last error.
FAILURES = {"HTTP 502 from the gateway": 3, "HTTP 400 <b>no such order</b>": 2}
BROWSER_SECONDS = 180


@pytest.fixture(scope="module")
def local_aws() -> Iterator[Emulator]:
    with emulator.start(STATE / "console", schedules=False) as running:
        yield running


@pytest.fixture(scope="module")
def queue(local_aws: Emulator) -> DeployedQueue:
    deployed = deployment.deploy(local_aws, assembly.read(LOCAL_ASSEMBLY, "LifoQueue-dev"), DeployedQueue)
    # Replaces the runner of dev, so that every run succeeds.
    runner = {"kind": "simulated", "capacity": 50, "durationMs": 1500}
    deployed.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner)}, {})
    return deployed


@pytest.fixture(scope="module")
def agents(local_aws: Emulator) -> DeployedAgents:
    return deployment.deploy(local_aws, assembly.read(LOCAL_ASSEMBLY, "AgentQueue-dev"), DeployedAgents)


@pytest.fixture(scope="module")
def browser() -> str:
    """Path of the browser. Without a browser, the test fails, because CI must not skip it."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, f"no browser: install one of {', '.join(BROWSERS)}, for example by apt-get install chromium"
    return found


def put_failed(queue: DeployedQueue) -> None:
    """Writes failed tasks as process-tasks does after their last attempt."""
    created = now_ms()
    number = 0
    for error, count in FAILURES.items():
        for _ in range(count):
            number += 1
            item = {
                "taskId": {"S": f"failed-{number}"},
                "taskStatus": {"S": "FAILURE"},
                "taskCreated": {"N": str(created - 60_000 * number)},
                "taskUpdated": {"N": str(created - 30_000 * number)},
                "ttl": {"N": str(created // 1000 + 86_400)},
                "attempts": {"N": "3"},
                "totalAttempts": {"N": "3"},
                "lastError": {"S": error},
                "payload": {"M": {"order": {"N": str(4711 + number)}}},
            }
            queue.client("dynamodb").put_item(TableName=queue.table, Item=item)


def match_agents(agents: DeployedAgents) -> None:
    """Queues one agent and creates one pending call without a matching agent."""
    profile = {"language": ["Spanish"], "gender": "F"}
    agents.command("register", agentId="ana", name="Ana Ruiz", attributes=profile)
    agents.command("available", agentId="ana")
    agents.command("enqueue", agentId="ana")
    agents.command("match", callId="call-1", criteria={"language": "Basque", "gender": "M"})


def test_the_console_in_a_browser(
    local_aws: Emulator, queue: DeployedQueue, agents: DeployedAgents, browser: str, tmp_path: Path
) -> None:
    freshq = built_freshq()
    put_failed(queue)
    queue.client("sqs").send_message(QueueUrl=queue.outputs["IngestDeadLetterQueueUrl"], MessageBody="not a task")
    match_agents(agents)
    endpoint = local_aws.endpoint
    with (
        console.serving(freshq, endpoint, "--allow-changes", "--every", "1s") as changing,
        console.serving(freshq, endpoint, "--every", "1s") as reading,
    ):
        environment = local_environment(endpoint) | {
            "CONSOLE": changing,
            "CONSOLE_READ_ONLY": reading,
            "CONSOLE_BROWSER": browser,
            "CONSOLE_FRESHQ": freshq,
            "CONSOLE_PROFILE": str(tmp_path),
        }
        # The documentation screenshots are generated only on request.
        if os.environ.get("FRESHQ_SCREENSHOTS"):
            environment["CONSOLE_SCREENSHOTS"] = str(PROJECT / "docs" / "img")
        ran = subprocess.run(
            [NODE_BIN / "tsx", "--test", "--test-reporter=spec", "tests/console/browser.test.ts"],
            cwd=PROJECT,
            env=environment,
            timeout=BROWSER_SECONDS,
            check=False,
        )
    assert ran.returncode == 0, "the tests in the browser failed; their report is above"
    statuses = {f"failed-{number}": queue.status(f"failed-{number}") for number in range(1, 6)}
    failed = [task for task, status in statuses.items() if status == "FAILURE"]
    assert failed == ["failed-5"], json.dumps(statuses)
