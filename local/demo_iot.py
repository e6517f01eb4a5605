"""The demonstration of a storm: more devices connect than the legacy system can validate.

Each connection is a message to the ingest queue, as the deployed IoT rule would send it, and becomes a task. A legacy
HTTP server with a fixed capacity validates the tasks, newest first. A second server with the same capacity validates
the same devices in order of arrival. The table at the end compares how many devices each server validated soon after
they connected.

Some devices reconnect. The device is the key of its task, so the queue validates only its newest connection. In order
of arrival, outdated connections are also validated.

In a storm, 20,000 devices connect within two seconds. The local AWS is slower than AWS, so 20 devices share a message
there, and its table accepts fewer new tasks than an index partition on AWS.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from local import iot_presence
from local.assembly import Assembly
from local.display import deployed
from local.fake_downstream import FakeDownstream, fake_downstream
from local.queue import DeployedQueue, chunks
from local.storm import ArrivalOrder, Event, Storm
from local.waiting import now_ms, wait_until

SERVICE_SECONDS = 0.4
#: Time within which a device must be validated to count as validated soon.
SOON_SECONDS = 5
#: Age above which a connection is no longer validated, because the device has disconnected.
EXPIRY_SECONDS = 10
#: Minimum ratio of devices validated within SOON_SECONDS: newest first compared with order of arrival.
LEAST_GAIN = 2
_DRAIN_SECONDS = 60


@dataclass(frozen=True)
class Scene:
    """A storm, and the system that has to validate its devices."""

    storm: Storm
    #: Number of devices that the legacy system validates concurrently.
    capacity: int
    #: Number of devices per message.
    devices_each: int = 1
    #: Number of new tasks that the table accepts per second; None for no limit.
    inserts: int | None = None
    #: Whether only devices that connect after the burst are compared.
    after_burst: bool = False


USUAL = Scene(Storm(burst=200, burst_seconds=2, steady=24, steady_seconds=15, reconnects=4), capacity=8)
STORM = Scene(
    Storm(burst=20_000, burst_seconds=2, steady=60, steady_seconds=20, reconnects=4),
    capacity=20,
    devices_each=20,
    inserts=100,
    after_burst=True,
)


@dataclass(frozen=True)
class Outcome:
    """The outcome for the devices of one storm, in one order."""

    name: str
    devices: int
    waits: list[float]
    outdated: int

    @property
    def soon(self) -> int:
        """Number of devices validated within `SOON_SECONDS` of connecting."""
        return sum(wait <= SOON_SECONDS for wait in self.waits)

    @property
    def shed(self) -> int:
        """Number of devices that were not validated."""
        return self.devices - len(self.waits)

    def percentile(self, share: float) -> float:
        """The percentile of the validated devices' waits, in seconds. `share` is a fraction, such as 0.9."""
        return sorted(self.waits)[max(0, round(share * len(self.waits)) - 1)]


def run(assembly: Assembly, console: Console, scene: Scene) -> int:
    """Starts a local AWS, deploys, runs the storm and compares. Always stops the local AWS.

    Returns the exit code: 0 only if newest first validated at least `LEAST_GAIN` times as many devices soon, and no
    device was lost or validated twice.
    """
    iot_presence.check(assembly)
    inserts = (assembly.stack, scene.inserts) if scene.inserts else None
    with (
        deployed("demo-iot", console, assembly, DeployedQueue, inserts=inserts) as queue,
        fake_downstream(scene.capacity, SERVICE_SECONDS) as newest,
        fake_downstream(scene.capacity, SERVICE_SECONDS) as arrival,
    ):
        return Demonstration(queue, console, scene, newest, arrival).go()


class Demonstration:
    """Runs the same storm in both orders concurrently: newest first and in arrival order."""

    def __init__(
        self,
        queue: DeployedQueue,
        console: Console,
        scene: Scene,
        newest: FakeDownstream,
        arrival: FakeDownstream,
    ) -> None:
        self._queue = queue
        self._console = console
        self._scene = scene
        self._storm = scene.storm
        self._newest = newest
        self._arrival = arrival
        self._in_order = ArrivalOrder(arrival, EXPIRY_SECONDS)
        self._devices: set[str] = set()

    def go(self) -> int:
        self._configure()
        self._announce()
        connected = self._storm.blow(self._connect)
        self._console.print("  the storm is over; waiting until everything is validated or expired")
        self._in_order.finish(_DRAIN_SECONDS)
        self._drain(max(connected.values()) + EXPIRY_SECONDS * 1000)
        return self._report(connected)

    def _configure(self) -> None:
        """Points the queue at the legacy system, and lets tasks expire when devices disconnect."""
        runner = {"kind": "http", "url": self._newest.address}
        self._queue.set_environment(
            "process-tasks", {"TASK_RUNNER": json.dumps(runner)}, {"concurrency": self._scene.capacity}
        )
        expiry = {"ingest": {"create": {"defaultTtlMs": EXPIRY_SECONDS * 1000}}}
        self._queue.set_environment("ingest-tasks", settings=expiry)

    def _announce(self) -> None:
        storm, say = self._storm, functools.partial(self._console.print, sep="\n", markup=False)
        self._console.print(
            f"[bold]{storm.devices:,} devices connect[/bold]: {storm.burst:,} within"
            f" {storm.burst_seconds:g} s, then {storm.steady} a second for"
            f" {storm.steady_seconds:g} s. {storm.connections - storm.devices} connections are of devices that connect"
            f" again. The legacy system validates {self._scene.capacity} concurrently, {self._newest.rate:g} per second."
        )
        say(
            "  The emulator cannot evaluate the statement of the deployed IoT rule.",
            "  So the demonstration sends the rule's messages to the ingest queue itself.",
        )
        if self._scene.inserts:
            say(
                f"  The emulator is slower than AWS. So {self._scene.devices_each} devices share a message, and the table",
                f"  takes {self._scene.inserts} new tasks a second; on AWS, a partition of the index takes 1,000.",
            )

    def _connect(self, events: list[Event]) -> None:
        tasks = [iot_presence.message(event, now_ms()) for event in events]
        for task in tasks:
            for system in (self._newest, self._arrival):
                system.connect(task["key"], task["payload"]["connectedAt"])
            self._in_order.put(task)
            self._devices.add(task["key"])
        each = self._scene.devices_each
        self._queue.send(tasks if each == 1 else list(chunks(tasks, each)))

    def _drain(self, last_expiry: int) -> None:
        """Waits until the ingest queue is empty, no task is running, and no unexpired task is pending.

        `last_expiry` is the last expiry of a task, in milliseconds since the epoch.
        """

        def ended() -> bool:
            return (
                self._queue.messages_left() == 0
                and self._queue.count("TAKEN") == 0
                and (now_ms() > last_expiry or self._queue.count("PENDING") == 0)
            )

        wait_until(ended, _DRAIN_SECONDS, "the end of every task")

    def _report(self, connected: dict[str, int]) -> int:
        newest, arrival = self._outcomes(connected)
        faults = self._faults(newest, arrival)
        name = "devices"
        if self._scene.after_burst:
            end_of_burst = min(connected.values()) + self._storm.burst_seconds * 1000
            late = {device: at for device, at in connected.items() if at >= end_of_burst}
            newest, arrival = self._outcomes(late)
            name = "devices that connected after the burst"
        self._console.print(comparison(name, newest, arrival))
        if newest.soon < LEAST_GAIN * max(arrival.soon, 1):
            faults.append(
                f"newest first served {newest.soon} {name} soon, arrival order {arrival.soon}:"
                f" less than {LEAST_GAIN} times as many"
            )
        for fault in faults:
            self._console.print(fault, style="red", markup=False)
        if not faults:
            self._console.print(
                f"[bold green]With the same capacity, newest first validated {newest.soon} {name}"
                f" within {SOON_SECONDS} s, arrival order {arrival.soon}.[/bold green]"
            )
        return 1 if faults else 0

    def _outcomes(self, connected: dict[str, int]) -> tuple[Outcome, Outcome]:
        """The outcomes for these devices: newest first, and arrival order."""
        systems = {"newest first": self._newest, "arrival order": self._arrival}
        newest, arrival = (outcome(name, connected, system) for name, system in systems.items())
        return newest, arrival

    def _faults(self, newest: Outcome, arrival: Outcome) -> list[str]:
        """The deviations from the expected result, one line each."""
        faults = []
        found = self._queue.statuses()
        statuses = [found.get(device) for device in self._devices]
        succeeded, expired = statuses.count("SUCCESS"), statuses.count("PENDING")
        never_written = statuses.count(None)
        if succeeded != len(newest.waits):
            faults.append(
                f"the newest connection of {len(newest.waits)} devices was validated,"
                f" but {succeeded} tasks succeeded"
            )
        if succeeded + expired + never_written != self._storm.devices:
            others = sorted({str(status) for status in statuses} - {"SUCCESS", "PENDING", "None"})
            faults.append(f"tasks ended otherwise than by success or expiry: {', '.join(others)}")
        for system, name in ((self._newest, newest.name), (self._arrival, arrival.name)):
            if system.repeated:
                faults.append(f"{name}: {system.repeated} connections were validated twice")
        if self._newest.overwritten:
            faults.append(f"{newest.name}: {self._newest.overwritten} older connections overwrote newer ones")
        if newest.outdated * LEAST_GAIN > arrival.outdated:
            faults.append(
                f"{newest.outdated} calls were about outdated connections although tasks have keys,"
                f" compared with {arrival.outdated} in arrival order"
            )
        return faults


def outcome(name: str, connected: dict[str, int], legacy: FakeDownstream) -> Outcome:
    """The outcome that a legacy system achieved for the devices that connected."""
    waits = [
        (done - connected[device]) / 1000
        for device, (connection, done) in legacy.validated.items()
        if connection == connected.get(device)
    ]
    return Outcome(name, len(connected), waits, legacy.outdated)


def comparison(name: str, *outcomes: Outcome) -> Table:
    table = Table(
        title=f"{outcomes[0].devices:,} {name}; the same capacity for each order",
        # Explains why newest first validates fewer devices in total.
        caption="Outdated: calls about a connection that the device had replaced. For each task, only newest first"
        " also waits for two writes to the table: some tens of milliseconds in the emulator, about ten on AWS.",
    )
    table.add_column("served", no_wrap=True)
    headings = (f"in {SOON_SECONDS} s", "wait p50", "p90", "validated", "expired", "outdated")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for each in outcomes:
        waits = [f"{each.percentile(share):.1f} s" if each.waits else "–" for share in (0.5, 0.9)]
        table.add_row(
            each.name,
            str(each.soon),
            *waits,
            str(len(each.waits)),
            str(each.shed),
            str(each.outdated),
        )
    return table
