"""A storm of connecting devices, and, for comparison, workers that serve them in order of arrival."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from local.fake_downstream import FakeDownstream
from local.waiting import now_ms

#: An AWS IoT Core event: https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html
Event = dict[str, Any]
#: Networks reserved for documentation (RFC 5737).
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")


@dataclass(frozen=True)
class Storm:
    """`burst` devices connect within `burst_seconds`, then `steady` per second for `steady_seconds`.

    Every `reconnects`-th later connection is from a device in the burst, starting with the last device in the burst.
    """

    burst: int
    burst_seconds: float
    steady: int
    steady_seconds: float
    reconnects: int = 0

    @property
    def connections(self) -> int:
        return self.burst + round(self.steady * self.steady_seconds)

    @property
    def devices(self) -> int:
        return len({self.device(number)[0] for number in range(self.connections)})

    def device(self, number: int) -> tuple[int, int]:
        """The device of a connection, and the number of the device's earlier connections."""
        later = number - self.burst
        if self.reconnects and later >= 0 and later % self.reconnects == 0:
            again = later // self.reconnects
            return self.burst - 1 - again % self.burst, again // self.burst + 1
        return number, 0

    def moments(self) -> Iterator[float]:
        for number in range(self.burst):
            yield self.burst_seconds * number / self.burst
        for number in range(self.connections - self.burst):
            yield self.burst_seconds + number / self.steady

    def blow(self, connected: Callable[[list[Event]], None], every: float = 0.1) -> dict[str, int]:
        """Connects the devices on schedule, and calls `connected` with the new events every `every` seconds.

        Returns the time of each device's last connection (this machine's clock, ms). This is the planned time, even if
        the machine is late, so two connections of a device have different times, even within one call of `connected`.
        """
        began, began_ms = time.monotonic(), now_ms()
        moments = list(self.moments())
        times: dict[str, int] = {}
        blown = 0
        while blown < len(moments):
            due = [m for m in moments[blown:] if m <= time.monotonic() - began]
            events = [
                connection(*self.device(blown + number), at_ms=began_ms + round(moment * 1000))
                for number, moment in enumerate(due)
            ]
            blown += len(due)
            times.update({event["clientId"]: event["timestamp"] for event in events})
            if events:
                connected(events)
            time.sleep(every)
        return times


def connection(number: int, before: int = 0, at_ms: int | None = None) -> Event:
    """The lifecycle event of a device that connects at `at_ms` (default: now) after `before` earlier connections."""
    return {
        "clientId": f"device-{number:05}",
        "timestamp": now_ms() if at_ms is None else at_ms,
        "eventType": "connected",
        "sessionIdentifier": str(uuid.uuid4()),
        "principalIdentifier": uuid.uuid4().hex * 2,
        "ipAddress": f"{_NETWORKS[number // 254 % 3]}.{number % 254 + 1}",
        "versionNumber": before,
    }


class ArrivalOrder:
    """Sends tasks to the legacy system in order of arrival, as many concurrently as it can serve.

    Like the queue, it drops a task that is older than `expiry_seconds` instead of running it.
    """

    def __init__(self, legacy: FakeDownstream, expiry_seconds: float) -> None:
        self._legacy = legacy
        self._expiry_ms = expiry_seconds * 1000
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors: list[Exception] = []
        self._workers = [
            threading.Thread(target=self._work, name=f"arrival-order-{number}", daemon=True)
            for number in range(legacy.capacity)
        ]
        for worker in self._workers:
            worker.start()

    def put(self, task: dict[str, Any]) -> None:
        self._waiting.put(task)

    def finish(self, seconds: float) -> None:
        """Waits until all tasks have finished. Raises the first worker error, or `TimeoutError`."""
        for _ in self._workers:
            self._waiting.put(None)
        deadline = time.monotonic() + seconds
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        if self._errors:
            raise self._errors[0]
        if any(worker.is_alive() for worker in self._workers):
            raise TimeoutError(f"not within {seconds:.0f} s: the end of the arrival order")

    def _work(self) -> None:
        address = urlsplit(self._legacy.address)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        try:
            while (task := self._waiting.get()) is not None:
                if now_ms() - task["taskCreated"] <= self._expiry_ms:
                    _post(connection, address.path, task)
        except (OSError, http.client.HTTPException, RuntimeError) as error:
            self._errors.append(error)
        finally:
            connection.close()


def _post(connection: http.client.HTTPConnection, path: str, task: dict[str, Any]) -> None:
    connection.request("POST", path, json.dumps(task), {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    if response.status != 204:
        raise RuntimeError(f"the legacy system returned {response.status} within its capacity")
