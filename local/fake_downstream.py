"""A downstream system with a fixed capacity: an HTTP server that returns 503 for excess requests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from local.http_endpoint import http_endpoint
from local.waiting import now_ms


@dataclass
class FakeDownstream:
    """A downstream system with its capacity and its statistics.

    It processes `capacity` devices concurrently, each for `service_seconds`, and returns 503 for others. `validated`
    has each device's last validated connection and the end of that validation (this machine's clock, ms). `newest` has
    each device's newest connection. `outdated` counts requests started after a newer connection of their device.
    """

    capacity: int
    service_seconds: float
    address: str = ""
    work: Callable[[float], object] = time.sleep
    validated: dict[str, tuple[int, int]] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    outdated: int = 0
    overwritten: int = 0
    repeated: int = 0
    turned_away: int = 0
    _busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rate(self) -> float:
        """Maximum number of devices that the system can validate per second."""
        return self.capacity / self.service_seconds

    def validate(self, task: dict[str, Any]) -> bool:
        """Validates a task's device. Returns False if the system is at capacity."""
        with self._lock:
            if self._busy >= self.capacity:
                self.turned_away += 1
                return False
            self._busy += 1
            device, connected = task["payload"]["clientId"], task["payload"]["connectedAt"]
            self.calls += 1
            self.outdated += connected < self.newest.get(device, connected)
        try:
            self.work(self.service_seconds)
            self._note(device, connected)
        finally:
            with self._lock:
                self._busy -= 1
        return True

    def connect(self, device: str, moment: int) -> None:
        """Records that a device connected. Its earlier connections are outdated from now on."""
        with self._lock:
            self.newest[device] = moment

    def _note(self, device: str, connected: int) -> None:
        with self._lock:
            last, _ = self.validated.get(device, (0, 0))
            self.repeated += connected == last
            self.overwritten += connected < last
            self.validated[device] = (connected, now_ms())


@contextmanager
def fake_downstream(capacity: int, service_seconds: float) -> Iterator[FakeDownstream]:
    """Yields a downstream system on a free port of 127.0.0.1 while the block runs."""
    system = FakeDownstream(capacity, service_seconds)

    def respond(body: bytes, _: Message) -> tuple[int, dict[str, str]]:
        return (204, {}) if system.validate(json.loads(body)) else (503, {"Retry-After": "1"})

    with http_endpoint(respond) as system.address:
        yield system
