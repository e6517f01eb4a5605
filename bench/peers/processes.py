"""The processes of a scene: a downstream, a queue, and the server that the queue requires."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Installed:
    """Where the queues are installed. ``redis`` is None if Redis is not."""

    freshq: Path
    redis: str | None


@dataclass(frozen=True)
class Load:
    """The limits that a queue must keep."""

    slots: int
    #: Maximum duration of a run, in milliseconds.
    timeout: int = 30_000
    #: Starts per second; None means unlimited.
    rate: int | None = None


class Running:
    """A process that serves HTTP on a port."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port = port
        self.process = process

    def request(self, method: str, path: str, body: object = None) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: HTTP {response.status}: {content[:200]!r}")
        return content

    @property
    def memory(self) -> float:
        """The largest memory of the process until now, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) / 1024


class Downstream(Running):
    """The system that the queues call."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def calls(self) -> list[dict[str, Any]]:
        return json.loads(self.request("GET", "/"))

    def fail(self, is_down: bool) -> None:
        self.request("PUT", "/", is_down)


class Queue(Running):
    """A queue that starts no task before it is released."""

    def hold(self) -> None:
        """Returns once no task starts."""

    def add(self, tasks: list[dict[str, Any]]) -> None:
        self.request("POST", "/tasks", {"tasks": tasks})

    def release(self) -> None:
        self.request("POST", "/start")


class Freshq(Queue):
    """``freshq dev``, which starts tasks unless it is paused."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], program: Path) -> None:
        super().__init__(port, process)
        self._program = program

    def hold(self) -> None:
        self._operate("pause", "--for", "10m", "--reason", "the backlog is created")
        # A processor obeys a pause from its next heartbeat on.
        time.sleep(6)

    def release(self) -> None:
        self._operate("resume")

    def _operate(self, *verb: str) -> None:
        subprocess.run([self._program, *verb, f"--dev=http://127.0.0.1:{self.port}"], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def downstream(scene: Mapping[str, Any]) -> Iterator[Downstream]:
    """A downstream with runs of ``run`` milliseconds on average, a ``rate`` and ``faults`` by their share."""
    with _serving(["node", _HERE / "downstream.mjs"], scene) as (port, process):
        yield Downstream(port, process)


@contextmanager
def queue(name: str, installed: Installed, target: Downstream, load: Load) -> Iterator[Queue]:
    """One of the queues, not released yet."""
    given = {"downstream": target.url, "slots": load.slots, "timeout": load.timeout, "rate": load.rate}
    with ExitStack() as stack:
        if name == "freshq":
            rate = ["--rate", str(load.rate)] if load.rate else []
            port = _free_port()
            command = [installed.freshq, "dev", "--runner", target.url, "--port", str(port), "--concurrency", str(load.slots)]
            options = ["--timeout", f"{load.timeout // 1000}s", "--max-attempts", "5", *rate]
            yield Freshq(port, stack.enter_context(_started([*command, *options], port)), installed.freshq)
        elif name == "BullMQ":
            assert installed.redis is not None
            redis = _free_port()
            folder = stack.enter_context(_folder())
            store = [installed.redis, "--bind", "127.0.0.1", "--port", str(redis), "--save", "", "--dir", folder]
            stack.enter_context(_started(store, redis))
            yield Queue(*stack.enter_context(_serving(["node", _HERE / "bullmq.mjs"], {**given, "redis": redis})))
        else:
            folder = stack.enter_context(_folder())
            command = [sys.executable, _HERE / "flexiq_worker.py"]
            yield Queue(*stack.enter_context(_serving(command, {**given, "database": f"{folder}/tasks.db"})))


def bare(target: Downstream, slots: int, seconds: float) -> None:
    """Calls the downstream for some seconds without a queue."""
    given = json.dumps({"downstream": target.url, "slots": slots, "seconds": seconds})
    subprocess.run(["node", _HERE / "bare.mjs", given], check=True)


@contextmanager
def _serving(command: list[Any], given: Mapping[str, Any]) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = _free_port()
    with _started([*command, json.dumps({"port": port, **given})], port) as process:
        yield port, process


@contextmanager
def _started(command: list[Any], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process, once it listens. It is stopped at the end of the block."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=output)
        try:
            deadline = time.monotonic() + 30
            while not _listens(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise RuntimeError(f"{command[0]} did not start: {output.read().decode()}")
                time.sleep(0.02)
            yield process
        finally:
            process.kill()
            process.wait()


def _folder() -> Any:
    """A temporary folder in memory, where the system has one."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
