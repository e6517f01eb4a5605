"""Runs `freshq console` on a local AWS."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from local.emulator import STOP_SECONDS, local_environment


class ConsoleError(RuntimeError):
    """Raised if the console does not start, or exits with a code other than 0. The console prints the reason."""


@contextmanager
def serving(freshq: str, endpoint: str, *arguments: str) -> Iterator[str]:
    """Serves the console for the `dev` environment while the block runs, and yields its URL."""
    process = subprocess.Popen(
        [freshq, "console", "--env", "dev", "--output", "json", *arguments],
        env=local_environment(endpoint),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        announced = process.stdout.readline()
        if not announced:
            raise ConsoleError(f"freshq console ended with exit code {process.wait()}")
        yield json.loads(announced)["url"]
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise ConsoleError(f"freshq console ended with exit code {process.returncode}, not 0")
