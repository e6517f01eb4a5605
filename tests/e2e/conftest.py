"""One local AWS with the deployed template of `dev` for all end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from expectations import wait_until_idle

from local import assembly, deployment, emulator
from local.assembly import Assembly
from local.history import History
from local.paths import LOCAL_ASSEMBLY, STATE
from local.queue import DeployedQueue

STACK = "LifoQueue-dev"


@pytest.fixture(scope="session")
def template() -> Assembly:
    """The synthesized assembly; `make synth-local` writes it."""
    return assembly.read(LOCAL_ASSEMBLY, STACK)


@pytest.fixture(scope="session")
def deployed(template: Assembly) -> Iterator[DeployedQueue]:
    """The queue, deployed for the whole session."""
    directory = STATE / "e2e"
    directory.mkdir(parents=True, exist_ok=True)
    local_aws = emulator.start(directory)
    try:
        yield deployment.deploy(local_aws, template)
    finally:
        local_aws.stop()


@pytest.fixture(scope="session")
def history(deployed: DeployedQueue) -> Iterator[History]:
    """Every change of a task since the deployment."""
    with History(deployed) as changes:
        yield changes


@pytest.fixture
def queue(deployed: DeployedQueue) -> Iterator[DeployedQueue]:
    """The queue with `process-tasks` as deployed, whatever a test changes about it."""
    functions = deployed.client("lambda")
    name = deployed.function("process-tasks")
    environment = deployed.environment("process-tasks")
    reserved = functions.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"]
    yield deployed
    if deployed.environment("process-tasks") != environment:
        # A new environment replaces the process: one that still held the processor lease would
        # leave it behind, and the next test's tasks would wait for the sweep.
        wait_until_idle(deployed)
        deployed.replace_environment("process-tasks", environment)
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)
