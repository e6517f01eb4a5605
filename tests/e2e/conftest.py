"""Local AWSs with the deployed `dev` templates for the end-to-end tests, one per pytest-xdist process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import commands
import pytest
from expectations import NO_TABLE, TRYING
from on_call import OnCall, alarm

from local import assembly, deployment, emulator
from local.agents import DeployedAgents
from local.assembly import Assembly
from local.decisions import Decisions
from local.emulator import Emulator, local_environment
from local.history import History
from local.queue import DeployedQueue
from local.queue_reader import QueueReader, subscription
from project.paths import LOCAL_ASSEMBLY, STATE

STACK = "LifoQueue-dev"
AGENTS_STACK = "AgentQueue-dev"
#: The slowest test files, slowest first. They start first, so that all processes end at about the same time.
LONGEST = ("smoke", "storm", "surplus", "schedules", "drain", "operate", "runbook", "runbook_platform", "two_processors", "ingest", "outage", "telemetry")
#: Index lag setting for the local AWS, which has no lag. The deployed setting would add two seconds to each turn.
INDEX_LAG_MS = 200


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the test files in `LONGEST` to the front."""
    order = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


@pytest.fixture(scope="session")
def command() -> str:
    """The path of freshq, which is built once."""
    return commands.built_freshq()


@pytest.fixture(scope="session")
def template() -> Assembly:
    """The synthesized assembly, which `make synth-local` writes."""
    return assembly.read(LOCAL_ASSEMBLY, STACK)


@pytest.fixture(scope="session")
def agents_template() -> Assembly:
    """The agents' stack of the same assembly."""
    return assembly.read(LOCAL_ASSEMBLY, AGENTS_STACK)


@pytest.fixture(scope="session")
def local_aws(worker_id: str) -> Iterator[Emulator]:
    """The local AWS of this process, for the whole session. Each stack is deployed when a test first needs it.

    It enforces the synthesized IAM policies of the functions. At the end, IAM must not have denied any function an
    action on an existing resource, even if no test failed. ``FRESHQ_IAM=0`` disables enforcement.

    Schedules don't fire, because sweeps at arbitrary times make some tests fail. Tests invoke the sweeps they need.
    """
    enforced = os.environ.get("FRESHQ_IAM") != "0"
    directory = STATE / "e2e" / worker_id
    with emulator.start(directory, enforced, schedules=False) as running:
        yield running
        if enforced:
            decided = Decisions(running.decisions, since_start=True).since()
            assert decided, "IAM is enforced, but there is no decision"
            rejected = sorted(
                str(decision)
                for decision in set(decided)
                if not decision.allowed
                and decision.session != TRYING
                and not decision.resource.endswith(f"/{NO_TABLE}")
            )
            assert not rejected, rejected


@pytest.fixture(scope="session")
def deployed(local_aws: Emulator, template: Assembly) -> DeployedQueue:
    """The queue, deployed for the whole session."""
    queue = deployment.deploy(local_aws, template, DeployedQueue)
    queue.set_environment("process-tasks", settings={"indexLagMs": INDEX_LAG_MS})
    return queue


@pytest.fixture(scope="session")
def agents(local_aws: Emulator, agents_template: Assembly) -> DeployedAgents:
    """The agents' queue, deployed for the whole session. Each test uses unique criteria."""
    return deployment.deploy(local_aws, agents_template, DeployedAgents)


@pytest.fixture(scope="session")
def dead_calls(agents: DeployedAgents) -> QueueReader:
    return QueueReader(agents.client("sqs"), agents.outputs["CallDeadLetterQueueUrl"])


@pytest.fixture(scope="session")
def assignments(agents: DeployedAgents) -> Iterator[QueueReader]:
    """The messages from the assignment topic since the first test that used this fixture."""
    with subscription(agents, agents.outputs["AssignmentTopicArn"]) as queue_reader:
        yield queue_reader


@pytest.fixture(scope="session")
def history(deployed: DeployedQueue) -> Iterator[History]:
    """Every task change since the deployment."""
    with History(deployed) as changes:
        yield changes


@pytest.fixture
def queue(deployed: DeployedQueue) -> Iterator[DeployedQueue]:
    """The queue. After the test, restores the deployed variables and reserved concurrency of `process-tasks`."""
    functions = deployed.client("lambda")
    name = deployed.function("process-tasks")
    environment = deployed.environment("process-tasks")
    reserved = functions.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"]
    yield deployed
    if deployed.environment("process-tasks") != environment:
        deployed.replace_environment("process-tasks", environment)
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)


@pytest.fixture
def unchanged(queue: DeployedQueue, template: Assembly) -> None:
    """Restores the settings of process-tasks from the template."""
    (settings,) = [
        variables["SETTINGS_PROCESS_TASKS"]
        for function in template.resources("AWS::Lambda::Function")
        if "SETTINGS_PROCESS_TASKS" in (variables := function.properties["Environment"]["Variables"])
    ]
    queue.set_environment("process-tasks", {"SETTINGS_PROCESS_TASKS": settings})


@pytest.fixture
def tasks(queue: DeployedQueue, template: Assembly, command: str) -> Iterator[Any]:
    """An `OnCall` per alarm name. Before and after the test, the queue is idle and its failure queues are empty."""

    def freshq(*arguments: str) -> None:
        commands.run(command, local_environment(queue.local_endpoint), *arguments)

    queue.wait_until_idle()
    queue.empty_queues()
    before = queue.environment("process-tasks")
    yield lambda name: OnCall(queue, command, alarm(template, name))
    # A failed test may leave tasks, which then run with the deployed settings.
    freshq("pause", "--for", "10m", "--reason", "the end of a test")
    queue.replace_environment("process-tasks", before)
    freshq("breaker", "close")
    freshq("resume")
    queue.wait_until_idle()
    queue.empty_queues()
