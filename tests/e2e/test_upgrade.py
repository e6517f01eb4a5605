"""Functions with the code of one release and the environment of another, as during a deployment or rollback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from expectations import sweep_until, wait_for

from local.queue import DeployedQueue
from local.stack import InvocationFailed, settings_variable
from local.waiting import now_ms, wait_until


@contextmanager
def without_settings(queue: DeployedQueue, binary: str) -> Iterator[None]:
    """While the block runs, removes the settings from a function's variables, as in an earlier release."""
    before = queue.environment(binary)
    earlier = {name: value for name, value in before.items() if name != settings_variable(binary)}
    queue.replace_environment(binary, earlier)
    try:
        yield
    finally:
        queue.replace_environment(binary, before)


def test_tasks_that_no_function_could_process_run_after_the_deployment(queue: DeployedQueue) -> None:
    queue.wait_until_idle()
    began = now_ms()
    with ExitStack() as stack:
        for binary in ("trigger", "process-tasks", "sweep-tasks"):
            stack.enter_context(without_settings(queue, binary))
        ids = [task["taskId"] for task in queue.create([{}, {}, {}])["created"]]
        wait_until(lambda: failures(queue, "trigger", began) > 0, 60, "a failed invocation of trigger")
        assert {queue.status(task) for task in ids} == {"PENDING"}
    sweep_until(queue, lambda: {queue.status(task) for task in ids} == {"SUCCESS"}, "every task in SUCCESS")


def test_a_caller_gets_an_error_that_names_the_missing_settings(queue: DeployedQueue) -> None:
    with without_settings(queue, "create-tasks"), pytest.raises(InvocationFailed) as rejected:
        queue.create([{}])
    assert "SETTINGS_CREATE_TASKS is missing" in str(rejected.value)
    (task,) = queue.create([{}])["created"]
    wait_for(queue, [task["taskId"]])


def failures(queue: DeployedQueue, binary: str, since_ms: int) -> int:
    """The number of initialization errors caused by the environment, according to the function's log."""
    lines = queue.log_messages(binary, since_ms)
    return sum(line.get("message") == "the function cannot start" for line in lines)
