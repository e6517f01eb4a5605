"""Starts and stops the local AWS that keeps running, for `make local-up` and `make local-down`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Callable

from local import contract, deployment, emulator
from local.agents import DeployedAgents
from local.assembly import Assembly
from local.emulator import Emulator, EmulatorError
from local.queue import DeployedQueue
from local.stack import DeployedStack, settings_variable
from project.paths import ENV_FILE, RUN_FILE, STATE, WATCH_ENV_FILE


def up(queue: Assembly, agents: Assembly, say: Callable[[str], None]) -> list[DeployedStack]:
    """Starts the local AWS, deploys both stacks, and writes the files with shell variables."""
    running = _running()
    if running is not None:
        raise EmulatorError(
            f"a local AWS is already running at {running.endpoint}: `make local-down` stops it"
        )
    local_aws = emulator.start(STATE / "up")
    try:
        # Writes this file first, so that `local-down` finds the local AWS even if this command is killed.
        RUN_FILE.write_text(json.dumps({"pid": local_aws.pid, "endpoint": local_aws.endpoint}))
        stacks = [
            deployment.deploy(local_aws, queue, DeployedQueue, say),
            deployment.deploy(local_aws, agents, DeployedAgents, say),
        ]
        _write_variables(ENV_FILE, shell_variables(local_aws, stacks))
        _write_variables(WATCH_ENV_FILE, watch_variables(local_aws, stacks))
    except BaseException:
        local_aws.stop()
        _forget()
        raise
    return stacks


def down() -> bool:
    """Stops the local AWS that `up` started. Returns False if none was running."""
    running = _running()
    if running is not None:
        running.stop()
    _forget()
    return running is not None


def shell_variables(local_aws: Emulator, stacks: list[DeployedStack]) -> dict[str, str]:
    """The endpoint, region, fake credentials, environment for freshq, and every output under its own name."""
    variables = emulator.client_variables(local_aws.endpoint) | {"FRESHQ_ENV": "dev"}
    for stack in stacks:
        variables |= stack.outputs
    return variables


def watch_variables(local_aws: Emulator, stacks: list[DeployedStack]) -> dict[str, str]:
    """The environment variables with which `cargo lambda watch` runs the functions on the local tables.

    cargo-lambda gives all functions the same environment. Therefore, a variable with different values for two functions
    is an error.
    """
    merged = emulator.client_variables(local_aws.endpoint)
    functions = contract.FUNCTIONS, contract.AGENT_FUNCTIONS
    for stack, binaries in zip(stacks, functions, strict=True):
        for binary in binaries:
            known = {*contract.ENVIRONMENT[binary], settings_variable(binary)}
            given = stack.environment(binary)
            for name, value in ((name, given[name]) for name in known & given.keys()):
                if merged.setdefault(name, value) != value:
                    raise ValueError(f"{name} differs between functions: {merged[name]!r}, {value!r}")
    return merged


def _write_variables(path: Path, variables: dict[str, str]) -> None:
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    path.write_text("\n".join(lines) + "\n")


def _running() -> Emulator | None:
    if not RUN_FILE.exists():
        return None
    noted = json.loads(RUN_FILE.read_text())
    if not emulator.is_running(noted["pid"]):
        return None
    return Emulator(noted["endpoint"], noted["pid"], STATE / "up")


def _forget() -> None:
    for path in (RUN_FILE, ENV_FILE, WATCH_ENV_FILE):
        path.unlink(missing_ok=True)
