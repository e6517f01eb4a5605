"""The scenes, and what each one measures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.peers.processes import Downstream, Installed, Load, Queue, bare, downstream, queue

SLOTS = 8
#: Time in which the queue must have ended its tasks after the last arrival or the end of an outage, in seconds.
_AFTER = 60


@dataclass(frozen=True)
class Backlog:
    """All tasks are there when the queue starts. Measures the share of the slots' time in which they run tasks."""

    #: Average duration of a run, in milliseconds. Durations are uniform within 50 % of it.
    run: int
    seconds: int = 8

    def alone(self) -> float:
        with downstream({"run": self.run}) as target:
            bare(target, SLOTS, self.seconds + 2)
            return self._share(target)

    def measure(self, name: str, installed: Installed) -> dict[str, float]:
        tasks = (self.seconds + 4) * SLOTS * 1000 // self.run
        with downstream({"run": self.run}) as target, queue(name, installed, target, Load(SLOTS)) as held:
            held.hold()
            for first in range(0, tasks, 500):
                held.add([_task(n) for n in range(first, min(first + 500, tasks))])
            held.release()
            time.sleep(self.seconds + 3)
            return {"share": self._share(target), "memory": held.memory}

    def _share(self, target: Downstream) -> float:
        calls = target.calls()
        return _busy(calls, calls[0]["start"] + 1000, self.seconds * 1000)


@dataclass(frozen=True)
class Overload:
    """Twice as many arrivals as runs. Measures the share of the slots' time, and the ages at the start."""

    run: int = 400
    seconds: int = 25

    def alone(self) -> float:
        with downstream({"run": self.run}) as target:
            bare(target, SLOTS, self.seconds)
            return self._share(target.calls())

    def measure(self, name: str, installed: Installed) -> dict[str, float]:
        rate = 2 * SLOTS * 1000 / self.run
        with _loaded({"run": self.run}, name, installed, Load(SLOTS)) as (target, held):
            _arrive(held, rate, self.seconds)
            calls = target.calls()
            ages = [call["age"] for call in calls]
            return {
                "share": self._share(calls),
                "under_1s": sum(age < 1000 for age in ages) / len(ages),
                "under_2s": sum(age < 2000 for age in ages) / len(ages),
            }

    def _share(self, calls: list[dict[str, Any]]) -> float:
        return _busy(calls, calls[0]["start"] + 2000, (self.seconds - 3) * 1000)


@dataclass(frozen=True)
class Outage:
    """The downstream responds with 503 for a time. Measures the tasks that never succeed, and the calls meanwhile."""

    per_second: float
    #: Times in seconds.
    before: int
    outage: int
    after: int

    def measure(self, name: str, installed: Installed) -> dict[str, float]:
        with _loaded({"run": 50}, name, installed, Load(SLOTS)) as (target, held):
            sent = _arrive(held, self.per_second, self.before)
            target.fail(True)
            earlier = len(target.calls())
            sent += _arrive(held, self.per_second, self.outage, sent)
            meanwhile = len(target.calls()) - earlier
            target.fail(False)
            sent += _arrive(held, self.per_second, self.after, sent)
            _wait(lambda: _succeeded(target) == sent, _AFTER)
            return {"sent": sent, "succeeded": _succeeded(target), "calls": meanwhile}


@dataclass(frozen=True)
class Imperfect:
    """An API with a strict rate and ordinary faults, at 75 % of its rate. Measures the tasks that succeed."""

    seconds: int = 120

    def measure(self, name: str, installed: Installed) -> dict[str, float]:
        faults = {"hang": 0.02, "reset": 0.02, "error": 0.04, "busy": 0.02}
        load = Load(SLOTS, timeout=5_000, rate=20)
        with _loaded({"run": 100, "rate": 20, "faults": faults}, name, installed, load) as (target, held):
            sent = _arrive(held, 15, self.seconds)
            _wait(lambda: _succeeded(target) == sent, _AFTER)
            calls = target.calls()
            late = sum(call["status"] == 200 and call["age"] > 15_000 for call in calls)
            return {"sent": sent, "succeeded": _succeeded(target), "late": late, "calls": len(calls)}


@contextmanager
def _loaded(scene: dict[str, Any], name: str, installed: Installed, load: Load) -> Iterator[tuple[Downstream, Queue]]:
    with downstream(scene) as target, queue(name, installed, target, load) as held:
        held.release()
        yield target, held


def _task(n: int) -> dict[str, Any]:
    return {"payload": {"n": n, "created": round(time.time() * 1000)}}


def _arrive(held: Queue, per_second: float, seconds: float, first: int = 0) -> int:
    """Adds tasks at a rate, and returns their number."""
    begin = time.monotonic()
    count = round(per_second * seconds)
    for n in range(count):
        time.sleep(max(0, begin + n / per_second - time.monotonic()))
        held.add([_task(first + n)])
    time.sleep(max(0, begin + seconds - time.monotonic()))
    return count


def _busy(calls: list[dict[str, Any]], begin: float, length: float) -> float:
    """The share of the slots' time from ``begin`` in which they run tasks; all in milliseconds."""
    end = begin + length
    spans = [(max(call["start"], begin), min(call["end"] or end, end)) for call in calls]
    return sum(max(0, until - since) for since, until in spans) / (SLOTS * length)


def _succeeded(target: Downstream) -> int:
    return len({call["n"] for call in target.calls() if call["status"] == 200})


def _wait(condition: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.5)
