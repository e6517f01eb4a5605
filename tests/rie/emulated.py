"""A function under AWS's Lambda Runtime Interface Emulator.

The emulator responds with status 200 to an error and to a time-out too, so a test reads the body.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from local.paths import PROJECT

_MACHINE = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
_START_SECONDS = 20.0
_STOP_SECONDS = 10.0
#: Time that the emulator may need after the function's time-out.
_MARGIN_SECONDS = 20.0


def emulator() -> Path:
    """The emulator's program, which `make test-rie` installs."""
    [program] = (PROJECT / ".venv").glob(f"lib/*/site-packages/samcli/local/rapid/aws-lambda-rie-{_MACHINE}")
    program.chmod(0o755)
    return program


class Function:
    """One function, invoked over HTTP. Use `with Function(bootstrap, environment, timeout) as function`."""

    def __init__(self, bootstrap: Path, environment: dict[str, str], timeout: int, log: Path) -> None:
        self._timeout = timeout
        address, runtime_api = (f"127.0.0.1:{_free_port()}" for _ in range(2))
        self._url = f"http://{address}/2015-03-31/functions/function/invocations"
        self.log = log
        variables = {
            "PATH": os.defpath,
            "NO_PROXY": "127.0.0.1",
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
        }
        command = [
            str(emulator()),
            *("--runtime-interface-emulator-address", address),
            *("--runtime-api-address", runtime_api),
            str(bootstrap),
        ]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env=variables | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._address = address

    def __enter__(self) -> Function:
        host, port = self._address.split(":")
        began = time.monotonic()
        while time.monotonic() - began < _START_SECONDS:
            try:
                socket.create_connection((host, int(port)), 1).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.02)
        self._stop()
        raise RuntimeError(f"the emulator did not start:\n{self.log.read_text(errors='replace')}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def invoke(self, event: Any) -> Any:
        """Invokes the function and returns the body of the response: JSON, or text after a time-out."""
        request = urllib.request.Request(self._url, json.dumps(event).encode())
        with urllib.request.urlopen(request, timeout=self._timeout + _MARGIN_SECONDS) as response:
            body = response.read().decode()
        try:
            return json.loads(body)
        except ValueError:
            return body


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
