"""A function under AWS's Lambda Runtime Interface Emulator.

The emulator responds with status 200 to an error and to a time-out too, so a test reads the body.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import random
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from project.paths import PROJECT

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
        self._bootstrap = bootstrap
        self._timeout = timeout
        self._environment = {
            "PATH": os.defpath,
            "NO_PROXY": "127.0.0.1",
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
        } | environment
        self.log = log

    def __enter__(self) -> Function:
        while not self._start():
            self._stop()
            log = self.log.read_text(errors="replace")
            # Another process can take a port between its selection and its use.
            if "address already in use" not in log:
                raise RuntimeError(f"the emulator did not start:\n{log}")
        return self

    def _start(self) -> bool:
        """Starts the emulator. Returns whether it accepts requests."""
        port, runtime_api = _free_port(), _free_port()
        self._url = f"http://127.0.0.1:{port}/2015-03-31/functions/function/invocations"
        command = [
            str(emulator()),
            *("--runtime-interface-emulator-address", f"127.0.0.1:{port}"),
            *("--runtime-api-address", f"127.0.0.1:{runtime_api}"),
            str(self._bootstrap),
        ]
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return all(self._listens(each) for each in (port, runtime_api))

    def _listens(self, port: int) -> bool:
        began = time.monotonic()
        while self._process.poll() is None and time.monotonic() - began < _START_SECONDS:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return self._process.poll() is None
            except ConnectionRefusedError:
                time.sleep(0.02)
        return False

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
    """A free port that no outgoing connection gets, because it is below the ephemeral ports."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
