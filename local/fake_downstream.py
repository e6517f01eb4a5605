"""A downstream system with a fixed capacity: an HTTP server that answers 503 to requests beyond it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local.waiting import now_ms


@dataclass
class FakeDownstream:
    """The capacity of a downstream system, and what it has done.

    It works on `capacity` devices at once, each for `service_seconds`, and answers 503 to others. `validated` has each
    device's last validated connection and the end of that validation (this machine's clock, ms). `newest` has each
    device's newest connection. `outdated` counts calls that began after a newer connection of their device.
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
        """Devices a second, at best."""
        return self.capacity / self.service_seconds

    def validate(self, task: dict[str, Any]) -> bool:
        """Validate the device that a task is about; False if all capacity is in use."""
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
        """A device connected: from now on an earlier connection of it is outdated."""
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
    """A downstream system on a free port of 127.0.0.1, for as long as the block runs."""
    system = FakeDownstream(capacity, service_seconds)
    with _Server(("127.0.0.1", 0), _handler(system)) as server:
        system.address = f"http://127.0.0.1:{server.server_address[1]}/validate"
        thread = threading.Thread(target=server.serve_forever, name="fake-downstream")
        thread.start()
        try:
            yield system
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    # A client that keeps its connection open must not keep us from leaving.
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def _handler(system: FakeDownstream) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body leave in two writes; without this the second waits for an acknowledgement.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            done = system.validate(task)
            self.send_response(204 if done else 503)
            if not done:
                self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing: the table at the end is what matters."""

    return Handler
