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

    It works on `capacity` devices at once, each for `service_seconds`, and answers 503 to others. `validated` has the
    end of each device's first validation (this machine's clock, ms).
    """

    capacity: int
    service_seconds: float
    address: str = ""
    work: Callable[[float], object] = time.sleep
    validated: dict[str, int] = field(default_factory=dict)
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
        try:
            self.work(self.service_seconds)
            self._note(task["payload"]["clientId"])
        finally:
            with self._lock:
                self._busy -= 1
        return True

    def _note(self, device: str) -> None:
        with self._lock:
            if device in self.validated:
                self.repeated += 1
            self.validated.setdefault(device, now_ms())


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
