"""Starts a function's bootstrap as Lambda does, on this machine or under qemu."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delivery.arm64.runtime_api import Result, RuntimeApi

#: Maximum time to wait for a response, which takes seconds under qemu.
_RESPONSE_SECONDS = 60.0
#: Remaining time reported to a function. `process-tasks` ends its turn long before this deadline.
_DEADLINE_SECONDS = 120.0
_STOP_SECONDS = 10.0
_LOADER = Path("/lib/ld-linux-aarch64.so.1")
_QEMU = ("qemu-aarch64-static", "qemu-aarch64")


class CannotStart(RuntimeError):
    """Raised if this machine can't run arm64, or the function doesn't respond. The message has the remedy."""


@dataclass(frozen=True)
class Run:
    """The result of one invocation in a new process."""

    result: Result
    #: Seconds from exec to the first request for an invocation. Under qemu, this value says nothing about Lambda.
    cold_start: float


def emulator() -> list[str]:
    """The emulator command that must precede an arm64 program; empty on arm64. Raises `CannotStart`."""
    if sys.platform != "linux":
        raise CannotStart("the functions are programs for Linux: run `make verify-arm64` on Linux, or in CI")
    if platform.machine() in ("aarch64", "arm64"):
        return []
    qemu = next(filter(None, map(shutil.which, _QEMU)), None)
    # Without -L, because threads hang in qemu 7.2 under another root. The program therefore uses this machine's libraries.
    if qemu is None or not _LOADER.exists():
        raise CannotStart(
            "arm64 programs cannot run here. Debian, Ubuntu: dpkg --add-architecture arm64 && apt-get update && "
            "apt-get install qemu-user-static libc6:arm64 libgcc-s1:arm64"
        )
    return [qemu]


def run(function: str, bootstrap: Path, event: Any, environment: dict[str, str]) -> Run:
    """Starts `bootstrap`, passes `event` to it and waits for the result. Raises `CannotStart` if there is none."""
    command = [*emulator(), str(bootstrap)]
    with RuntimeApi(function, _DEADLINE_SECONDS) as api, tempfile.TemporaryFile() as log:
        api.invoke(event)
        variables = _lambda_variables(function, api.address) | environment
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            cold_start = _wait_until_ready(api, process, started)
            result = None if cold_start is None else _wait_for_result(api, process)
        finally:
            _stop(process)
        if cold_start is None or result is None:
            log.seek(0)
            said = log.read().decode(errors="replace")[-2000:]
            raise CannotStart(f"{function} returned no result (exit code {process.returncode}):\n{said}")
    return Run(result, cold_start)


def _wait_until_ready(api: RuntimeApi, process: subprocess.Popen[bytes], started: float) -> float | None:
    while time.monotonic() - started < _RESPONSE_SECONDS:
        if api.ready.wait(0.01):
            return time.monotonic() - started
        if process.poll() is not None:
            return None
    return None


def _wait_for_result(api: RuntimeApi, process: subprocess.Popen[bytes]) -> Result | None:
    deadline = time.monotonic() + _RESPONSE_SECONDS
    while time.monotonic() < deadline:
        result = api.result(0.1)
        if result is not None:
            return result
        if process.poll() is not None:
            # The function might have responded just before it exited.
            return api.result(0.5)
    return None


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _lambda_variables(function: str, runtime_api: str) -> dict[str, str]:
    """The environment variables that Lambda sets for every function, and PATH. The function inherits no others.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
    """
    return {
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
        "AWS_LAMBDA_LOG_GROUP_NAME": function,
        "AWS_LAMBDA_LOG_STREAM_NAME": "arm64",
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "PATH": os.defpath,
        "NO_PROXY": "127.0.0.1",
    }
