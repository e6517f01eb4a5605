"""The local AWS that stays up for play: `make local-up` and `make local-down`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Callable

from local import deployment, emulator
from local.assembly import Assembly
from local.emulator import Emulator, EmulatorError
from local.paths import ENV_FILE, RUN_FILE, STATE, WATCH_ENV_FILE
from local.queue import DeployedQueue

FUNCTIONS = ("create-tasks", "trigger", "process-tasks", "sweep-tasks")


def up(assembly: Assembly, say: Callable[[str], None]) -> DeployedQueue:
    """Start the local AWS, deploy the assembly and write the files to be sourced."""
    running = _running()
    if running is not None:
        raise EmulatorError(
            f"a local AWS is running already at {running.endpoint}: `make local-down` stops it"
        )
    directory = STATE / "up"
    directory.mkdir(parents=True, exist_ok=True)
    local_aws = emulator.start(directory)
    try:
        # Written at once, so that `local-down` reaches it even if this command is killed.
        RUN_FILE.write_text(json.dumps({"pid": local_aws.pid, "endpoint": local_aws.endpoint}))
        queue = deployment.deploy(local_aws, assembly, say)
        _write_variables(ENV_FILE, shell_variables(queue))
        _write_variables(WATCH_ENV_FILE, watch_variables(queue))
    except BaseException:
        local_aws.stop()
        _forget()
        raise
    return queue


def down() -> bool:
    """Stop what `up` started; False when nothing was running."""
    running = _running()
    if running is not None:
        running.stop()
    _forget()
    return running is not None


def shell_variables(queue: DeployedQueue) -> dict[str, str]:
    """The endpoint, region and fake credentials, and every output under its own name."""
    return emulator.client_variables(queue.endpoint) | queue.outputs


def watch_variables(queue: DeployedQueue) -> dict[str, str]:
    """What the functions need when `cargo lambda watch` runs them against the local tables.

    cargo-lambda gives all functions one environment, so a variable that two functions know
    under different values could not be served: that is an error.
    """
    merged = emulator.client_variables(queue.endpoint)
    for binary in FUNCTIONS:
        for name, value in queue.environment(binary).items():
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
