"""Starts `freshq dev` as a process, and a runner for its tasks."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from local.http_endpoint import http_endpoint
from project.captured import captured

#: Maximum wait, which fails a test that would otherwise wait indefinitely. No assertion depends on this value.
PATIENCE_SECONDS = 60


@dataclass
class Runner:
    url: str = ""
    _calls: queue.Queue[str] = field(default_factory=queue.Queue)
    _statuses: queue.Queue[int] = field(default_factory=queue.Queue)

    def next_call(self) -> str:
        """The task id in the next call."""
        return self._calls.get(timeout=PATIENCE_SECONDS)

    def end(self, calls: int = 1, status: int = 200) -> None:
        """Lets this number of calls end with this status."""
        for _ in range(calls):
            self._statuses.put(status)

    def respond(self, body: bytes, _: Message) -> tuple[int, dict[str, str]]:
        self._calls.put(json.loads(body)["taskId"])
        return self._statuses.get(timeout=PATIENCE_SECONDS), {}


@contextmanager
def held_runner() -> Iterator[Runner]:
    running = Runner()
    with http_endpoint(running.respond) as url:
        running.url = url
        try:
            yield running
        finally:
            running.end(1_000)


class Dev:
    def __init__(self, command: str, arguments: tuple[str, ...]) -> None:
        self.command = command
        self.process = subprocess.Popen(
            [command, "dev", "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._new: queue.Queue[str | None] = queue.Queue()
        #: While it is cleared, no process reads the output.
        self.reads = threading.Event()
        self.reads.set()
        threading.Thread(target=self._read, daemon=True).start()
        ready = self.wait_for(r"DynamoDB +(http://127\.0\.0\.1:\d+),")
        self.url = ready[1]

    @classmethod
    @contextmanager
    def started(cls, command: str, *arguments: str) -> Iterator[Dev]:
        running = cls(command, arguments)
        try:
            yield running
        finally:
            running.process.kill()
            running.process.wait()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Waits for the next printed line that matches the pattern, and returns it."""
        while True:
            line = self._new.get(timeout=PATIENCE_SECONDS)
            assert line is not None, f"freshq dev ended without {pattern!r}:\n{''.join(self.lines)}"
            found = re.search(pattern, line)
            if found:
                return found

    def end(self, signal: int) -> int:
        """Sends a signal, reads all lines, and returns the exit code."""
        self.process.send_signal(signal)
        return self.ended()

    def ended(self) -> int:
        """Waits until the process exits, reads all lines, and returns the exit code."""
        while self._new.get(timeout=PATIENCE_SECONDS) is not None:
            pass
        return self.process.wait()

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Sends a request to the queue. Returns the status code and the body of the response."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def create(self, *tasks: dict[str, Any]) -> None:
        status, body = self.request("POST", "/tasks", list(tasks))
        assert status == 200, body

    def freshq(self, *arguments: str) -> str:
        """Runs a command on this queue and returns its output."""
        ended = captured(
            [self.command, *arguments], env={**os.environ, "FRESHQ_DEV": self.url}, timeout=PATIENCE_SECONDS
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.reads.wait()
            self.lines.append(line)
            self._new.put(line)
        self._new.put(None)
