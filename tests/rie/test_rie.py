"""Each function under AWS's Runtime Interface Emulator: an error, an event, a time-out, and the next event.

The emulator is AWS's own implementation of the Runtime API. `make test-rie` installs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from delivery.arm64.verify import CHECKS, event_of
from local import assembly, deployment, emulator
from local.agents import DeployedAgents
from local.contract import AGENT_FUNCTIONS
from local.queue import DeployedQueue
from local.stack import DeployedStack
from project.paths import PROJECT, STATE
from tests.rie.emulated import Function
from tests.rie.gate import Gate

#: Long enough for every function to respond to its event on an idle queue.
TIMEOUT = 60
#: Short, because a test waits for its end.
SHORT_TIMEOUT = 3
#: These functions need no event, so only a rejected request is an error.
WITHOUT_EVENT = ("sweep-tasks", "sweep-agents")


@pytest.fixture(scope="module")
def stacks() -> Iterator[dict[str, DeployedStack]]:
    with emulator.start(STATE / "rie") as aws:
        placeholders = STATE / "placeholders"
        queue = deployment.deploy(aws, assembly.read(placeholders, "LifoQueue-dev"), DeployedQueue)
        agents = deployment.deploy(aws, assembly.read(placeholders, "AgentQueue-dev"), DeployedAgents)
        yield {name: agents if name in AGENT_FUNCTIONS else queue for name in CHECKS}


def started(name: str, stack: DeployedStack, gate: Gate, timeout: int) -> Function:
    environment = stack.environment(name) | emulator.client_variables(gate.endpoint)
    bootstrap = PROJECT / "target" / "local" / name / "bootstrap"
    return Function(bootstrap, environment, timeout, STATE / "rie" / f"{name}.log")


def is_error(response: Any) -> bool:
    return isinstance(response, dict) and {"errorType", "errorMessage"} <= response.keys()


# In the order of CHECKS, because process-tasks runs the tasks that create-tasks creates.
@pytest.mark.parametrize("name", CHECKS)
def test_a_function_reports_an_error_and_responds_to_the_next_event(name: str, stacks: dict[str, DeployedStack]) -> None:
    with Gate(stacks[name].local_endpoint) as gate, started(name, stacks[name], gate, TIMEOUT) as function:
        gate.mode = "reject" if name in WITHOUT_EVENT else "pass"
        error = function.invoke([])
        assert is_error(error), error

        gate.mode = "pass"
        response = function.invoke(event_of(name))
        assert CHECKS[name](response), response


def test_a_function_ends_at_its_timeout_and_responds_to_the_next_event(stacks: dict[str, DeployedStack]) -> None:
    def run(name: str) -> tuple[Any, Any]:
        with Gate(stacks[name].local_endpoint) as gate, started(name, stacks[name], gate, SHORT_TIMEOUT) as function:
            gate.mode = "hang"
            hung = function.invoke(event_of(name))
            gate.mode = "pass"
            return hung, function.invoke(event_of(name))

    with ThreadPoolExecutor(len(CHECKS)) as pool:
        results = dict(zip(CHECKS, pool.map(run, CHECKS), strict=True))
    timed_out = f"Task timed out after {SHORT_TIMEOUT}.00 seconds"
    for name, (hung, following) in results.items():
        # These two stop before the time-out. ingest-tasks returns its messages to the queue, and process-tasks starts
        # no turn.
        if name == "ingest-tasks":
            assert len(hung["batchItemFailures"]) == len(event_of(name)["Records"]), hung
        elif name != "process-tasks":
            assert hung == timed_out, f"{name}: {hung}"
        assert following != timed_out and not is_error(following), f"{name}: {following}"
