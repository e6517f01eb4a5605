"""The demonstration of a storm: more devices connect than the legacy system can validate.

Each connection is a message to the ingest queue, as the deployed IoT rule would send it, and
becomes a task. A legacy HTTP server of a fixed capacity validates the tasks, newest first. A second
server of the same capacity validates the same devices in the order of arrival. The table at the end
compares how many devices each of them validated soon after they connected.

Some devices connect again. The device is the key of its task, so the queue validates only its
newest connection. In the order of arrival, outdated connections are validated too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from local import deployment, emulator, iot_presence
from local.assembly import Assembly
from local.fake_downstream import FakeDownstream, fake_downstream
from local.paths import STATE
from local.queue import DeployedQueue, chunks
from local.storm import ArrivalOrder, Event, Storm
from local.waiting import now_ms, wait_until

CAPACITY = 8
SERVICE_SECONDS = 0.4
#: A device counts as validated soon if it is validated within this time.
SOON_SECONDS = 5
#: A connection older than this is no longer validated: the device has disconnected.
EXPIRY_SECONDS = 10
STORM = Storm(burst=200, burst_seconds=2, steady=24, steady_seconds=15, reconnects=4)
#: Newest first must validate at least this many times as many devices soon as the order of arrival.
LEAST_GAIN = 2
_DRAIN_SECONDS = 60
_SQS_BATCH = 10


@dataclass(frozen=True)
class Outcome:
    """The outcome for the devices of one storm, in one order."""

    name: str
    devices: int
    waits: list[float]
    calls: int
    outdated: int

    @property
    def soon(self) -> int:
        """Devices validated within `SOON_SECONDS` of connecting."""
        return sum(wait <= SOON_SECONDS for wait in self.waits)

    @property
    def shed(self) -> int:
        """Devices that were not validated."""
        return self.devices - len(self.waits)

    def percentile(self, share: float) -> float:
        """The wait, in seconds, that this share of the validated devices did not exceed."""
        return sorted(self.waits)[max(0, round(share * len(self.waits)) - 1)]


def run(assembly: Assembly, console: Console) -> int:
    """Start a local AWS, deploy, run the storm and compare; always stops the local AWS.

    Returns the exit code: 0 only if newest first served at least `LEAST_GAIN` times as many
    devices soon, and no device was lost or validated twice.
    """
    directory = STATE / "demo-iot"
    directory.mkdir(parents=True, exist_ok=True)
    iot_presence.check(assembly)
    console.print("[bold]Starting the local AWS[/bold]")
    local_aws = emulator.start(directory)
    try:
        console.print(f"  ministack at {local_aws.endpoint}")
        queue = deployment.deploy(local_aws, assembly, DeployedQueue, lambda step: console.print(f"  {step}"))
        with (
            fake_downstream(CAPACITY, SERVICE_SECONDS) as newest,
            fake_downstream(CAPACITY, SERVICE_SECONDS) as arrival,
        ):
            return Demonstration(queue, console, newest, arrival).go()
    finally:
        local_aws.stop()
        console.print(f"Stopped the local AWS; its log: {directory.relative_to(STATE.parent)}")


class Demonstration:
    """One storm, served in both orders at once."""

    def __init__(
        self,
        queue: DeployedQueue,
        console: Console,
        newest: FakeDownstream,
        arrival: FakeDownstream,
    ) -> None:
        self._queue = queue
        self._console = console
        self._newest = newest
        self._arrival = arrival
        self._in_order = ArrivalOrder(arrival, EXPIRY_SECONDS)
        self._devices: set[str] = set()

    def go(self) -> int:
        self._configure()
        self._announce()
        connected = STORM.blow(self._connect)
        self._console.print("  the storm is over; waiting until everything is validated or expired")
        self._in_order.finish(_DRAIN_SECONDS)
        self._drain(max(connected.values()) + EXPIRY_SECONDS * 1000)
        return self._report(connected)

    def _configure(self) -> None:
        """Point the queue at the legacy system, and let tasks expire when devices disconnect."""
        runner = {"kind": "http", "url": self._newest.address}
        self._queue.set_environment(
            "process-tasks", {"TASK_RUNNER": json.dumps(runner)}, {"concurrency": CAPACITY}
        )
        expiry = {"ingest": {"create": {"defaultTtlMs": EXPIRY_SECONDS * 1000}}}
        self._queue.set_environment("ingest-tasks", settings=expiry)

    def _announce(self) -> None:
        self._console.print(
            f"[bold]{STORM.devices} devices connect[/bold]: {STORM.burst} within"
            f" {STORM.burst_seconds:g} s, then {STORM.steady} a second for"
            f" {STORM.steady_seconds:g} s. {STORM.connections - STORM.devices} connections are of devices that connect"
            f" again. The legacy system validates {CAPACITY} at once, {self._newest.rate:g} a second."
        )
        self._console.print(
            "  The emulator cannot evaluate the statement of the deployed IoT rule.",
            "  So the demonstration sends the rule's messages to the ingest queue itself.",
            sep="\n",
            markup=False,
        )

    def _connect(self, events: list[Event]) -> None:
        tasks = [iot_presence.message(event, now_ms()) for event in events]
        for task in tasks:
            for system in (self._newest, self._arrival):
                system.connect(task["key"], task["payload"]["connectedAt"])
            self._in_order.put(task)
            self._devices.add(task["key"])
        sqs, url = self._queue.client("sqs"), self._queue.outputs["IngestQueueUrl"]
        for batch in chunks(tasks, _SQS_BATCH):
            entries = [
                {"Id": str(number), "MessageBody": json.dumps(task)}
                for number, task in enumerate(batch)
            ]
            rejected = sqs.send_message_batch(QueueUrl=url, Entries=entries).get("Failed")
            if rejected:
                raise RuntimeError(f"the ingest queue rejected {rejected[0]}")

    def _drain(self, last_expiry: int) -> None:
        """Wait until no message is in the ingest queue, no task runs, and no task is pending and unexpired.

        `last_expiry` is the last expiry of a task, in milliseconds since the epoch.
        """
        sqs, url = self._queue.client("sqs"), self._queue.outputs["IngestQueueUrl"]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

        def ended() -> bool:
            left = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
            return (
                not any(int(left[name]) for name in names)
                and self._queue.count("TAKEN") == 0
                and (now_ms() > last_expiry or self._queue.count("PENDING") == 0)
            )

        wait_until(ended, _DRAIN_SECONDS, "the end of every task")

    def _report(self, connected: dict[str, int]) -> int:
        newest = outcome("newest first", connected, self._newest)
        arrival = outcome("arrival order", connected, self._arrival)
        self._console.print(comparison(newest, arrival))
        faults = self._faults(newest, arrival)
        for fault in faults:
            self._console.print(fault, style="red", markup=False)
        if not faults:
            self._console.print(
                f"[bold green]{newest.soon / arrival.soon:.1f} times as many devices were validated"
                f" within {SOON_SECONDS} s, by the same capacity.[/bold green]"
            )
        return 1 if faults else 0

    def _faults(self, newest: Outcome, arrival: Outcome) -> list[str]:
        """The differences from the expected result, one line each."""
        faults = []
        statuses = [self._queue.status(device) for device in self._devices]
        succeeded, expired = statuses.count("SUCCESS"), statuses.count("PENDING")
        never_written = statuses.count(None)
        if succeeded != len(newest.waits):
            faults.append(
                f"the newest connection of {len(newest.waits)} devices was validated,"
                f" but {succeeded} tasks succeeded"
            )
        if succeeded + expired + never_written != STORM.devices:
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
        if arrival.soon == 0 or newest.soon < LEAST_GAIN * arrival.soon:
            faults.append(
                f"newest first served {newest.soon} devices soon, arrival order {arrival.soon}:"
                f" less than {LEAST_GAIN} times as many"
            )
        return faults


def outcome(name: str, connected: dict[str, int], legacy: FakeDownstream) -> Outcome:
    """The outcome of a legacy system for the devices that connected."""
    waits = [
        (done - connected[device]) / 1000
        for device, (connection, done) in legacy.validated.items()
        if connection == connected[device]
    ]
    return Outcome(name, len(connected), waits, legacy.calls, legacy.outdated)


def comparison(*outcomes: Outcome) -> Table:
    table = Table(
        title=f"{outcomes[0].devices} devices; the same capacity for each order",
        # Explains why newest first validates fewer devices in total.
        caption="For each task, only newest first also waits for two writes to the table:"
        " some tens of milliseconds in the emulator, about ten on AWS.",
    )
    table.add_column("served", no_wrap=True)
    headings = (f"in {SOON_SECONDS} s", "share", "wait p50", "p90", "validated", "expired", "outdated calls")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for each in outcomes:
        table.add_row(
            each.name,
            str(each.soon),
            f"{each.soon / each.devices:.0%}",
            f"{each.percentile(0.5):.1f} s",
            f"{each.percentile(0.9):.1f} s",
            str(len(each.waits)),
            str(each.shed),
            f"{each.outdated} of {each.calls}",
        )
    return table
