"""Checks the guarantees of the task queue on a deployed stack with a simulated runner."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from local.expectations import wait_for
from local.queue_reader import QueueReader
from local.queue import DeployedQueue, chunks
from local.waiting import now_ms, wait_until
from smoke.place import Freshq
from smoke.report import Report, expect

#: Recovery time after a crash: lease (5.5 s), sweep schedule (60 s), emulator tick (10 s), retry, backoff and runs.
CRASH_SECONDS = 180.0
ATTEMPTS = 2
#: Number of tasks: one minute at a queue's limit of 500 tasks/s. The local AWS shows only that the check works.
RATE_TASKS, LOCAL_RATE_TASKS = 30_000, 500
RATE_SECONDS = 60.0
#: With these settings, DynamoDB and the function are the bottleneck, because up to 2,000 runs can end per second.
RATE_SLOTS, RATE_RUN_MS = 200, 100

#: Settings with short times, which shorten the test. Only the smoke test's own stack uses them.
SETTINGS = {
    "taskTimeoutMs": 4000,
    "deadlineMarginMs": 1000,
    "clockSkewMs": 500,
    "processorLeaseMs": 4000,
    "heartbeatMs": 1000,
    "maxAttempts": ATTEMPTS,
    "retry": {"baseMs": 500, "maxMs": 1000},
}


@dataclass
class TaskChecks:
    queue: DeployedQueue
    freshq: Freshq

    def run(self, report: Report) -> None:
        """Runs all checks, in an order in which none interferes with the next."""
        checks: list[tuple[str, Callable[[], str]]] = [
            # Before any setting changes, because it also compares the settings.
            ("tasks: freshq smoke", self.smoke),
            ("tasks: short times are set", self.short_times),
            ("tasks: failing and hanging tasks end as FAILURE, other tasks are not affected", self.poison),
            ("tasks: a failed task is redriven and succeeds", self.redrive),
            ("tasks: the tasks of a process that exited run again", self.crash),
            ("tasks: ingest accepts tasks and rejects invalid messages", self.ingest),
            ("tasks: the rate over a minute", self.rate),
        ]
        for name, check in checks:
            report.check(name, check)

    def short_times(self) -> str:
        runner = json.loads(self.queue.environment("process-tasks")["TASK_RUNNER"])
        expect(runner["kind"] == "simulated", f"the runner is {runner['kind']}: use ENV=dev")
        self.queue.set_environment("process-tasks", settings=SETTINGS)
        return f"the simulated runner takes {runner['capacity']} concurrent tasks, {runner['durationMs']} ms each"

    def smoke(self) -> str:
        # Its last line but one is a summary.
        return self.freshq("smoke", "--yes").strip().splitlines()[-2]

    def poison(self) -> str:
        began = now_ms()
        healthy = self.create(*({"number": number} for number in range(20)))
        wrong = {"fail": 1, "retry": ATTEMPTS, "hang": ATTEMPTS}
        # These are the newest tasks. A queue that always retried them first would never run another task.
        poison = self.create(*({"simulate": {"outcome": outcome}} for outcome in wrong))
        wait_for(self.queue, healthy, seconds=60)
        served = now_ms() - began

        # A run without a response costs an attempt only if another task succeeds after it, so tasks keep arriving.
        def ended() -> bool:
            healthy.extend(self.create({}))
            return all(self.queue.status(task) == "FAILURE" for task in poison)

        wait_until(ended, 90, "the end of the failing and hanging tasks", every=1)
        wait_for(self.queue, healthy, seconds=60)
        self.expect_attempts(healthy, 1)
        for task, (outcome, attempts) in zip(poison, wrong.items(), strict=True):
            self.expect_attempts([task], attempts)
            expect("lastError" in self.item(task), f"{task}, which was meant to {outcome}, has no lastError")
        return f"{len(poison)} tasks FAILURE, {len(healthy)} others SUCCESS within {served / 1000:.1f} s"

    def redrive(self) -> str:
        (task,) = self.create({"simulate": {"outcome": "retry", "attempts": ATTEMPTS}})
        wait_for(self.queue, [task], "FAILURE", seconds=60)
        self.queue.wait_until_idle()
        # The additional attempt simulates the fix that precedes an operator's redrive.
        self.queue.set_environment("process-tasks", settings={"maxAttempts": ATTEMPTS + 1})
        self.freshq("redrive", task)
        wait_for(self.queue, [task], seconds=60)
        self.expect_attempts([task], ATTEMPTS + 1)
        return f"FAILURE after {ATTEMPTS} attempts, SUCCESS once redriven"

    def crash(self) -> str:
        self.queue.wait_until_idle()
        began = now_ms()
        neighbours = [{"simulate": {"outcome": "hang", "attempts": 1}}] * 4
        *others, exiting = self.create(*neighbours, {"simulate": {"outcome": "exit", "attempts": 1}})
        wait_for(self.queue, [*others, exiting], seconds=CRASH_SECONDS)
        returned = [task for task in (exiting, *others) if "lease" in self.item(task)["lastError"]["S"]]
        expect(exiting in returned, f"{exiting}, whose process exited, was not returned by its expired lease")
        self.expect_attempts([exiting], 2)
        return f"{len(returned)} tasks returned by expired leases, ended after {(now_ms() - began) / 1000:.0f} s"

    def ingest(self) -> str:
        sqs, url = self.queue.client("sqs"), self.queue.outputs["IngestQueueUrl"]
        good, bad = f"smoke-{uuid.uuid4()}", json.dumps({"taskId": f"smoke-{uuid.uuid4()}", "ttlSeconds": -1})
        for body in (bad, json.dumps({"taskId": good})):
            sqs.send_message(QueueUrl=url, MessageBody=body)
        wait_for(self.queue, [good], seconds=60)
        letters = QueueReader(sqs, self.queue.outputs["IngestDeadLetterQueueUrl"])
        (letter,) = letters.wait_for(lambda message: message.body == bad, 60, "the invalid message")
        reason = letter.attributes.get("reason", "")
        expect("ttlSeconds" in reason, f"the reason does not name the field ttlSeconds: {reason!r}")
        return f"the dead-letter queue has the reason: {reason}"

    def rate(self) -> str:
        tasks = LOCAL_RATE_TASKS if self.freshq.place.is_local else RATE_TASKS
        runner = {"kind": "simulated", "capacity": RATE_SLOTS, "durationMs": RATE_RUN_MS}
        self.queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner)}, {"concurrency": RATE_SLOTS})
        before = self.queue.count("SUCCESS")
        self.freshq("pause", "--for", "30m", "--reason", "smoke test")
        try:
            with ThreadPoolExecutor(8) as calls:
                created = sum(len(ids) for ids in calls.map(lambda some: self.create(*some), chunks([{}] * tasks, 250)))
        finally:
            self.freshq("resume")
        began = time.monotonic()
        while (done := self.queue.count("SUCCESS") - before) < created and time.monotonic() < began + RATE_SECONDS:
            time.sleep(1)
        seconds = time.monotonic() - began
        expect(done > 0, f"no task ended within {seconds:.0f} s")
        note = "; a local result says nothing about AWS" if self.freshq.place.is_local else ""
        return f"{done / seconds:.0f} tasks/s: {done} of {created} in {seconds:.0f} s, {RATE_SLOTS} concurrently{note}"

    def create(self, *payloads: dict[str, Any]) -> list[str]:
        response = self.queue.create([{"payload": payload} for payload in payloads])
        expect(response["failed"] == [], f"create-tasks rejected {response['failed']}")
        return [task["taskId"] for task in response["created"]]

    def item(self, task: str) -> dict[str, Any]:
        item = self.queue.item(task)
        expect(item is not None, f"the task {task} does not exist")
        return item or {}

    def number(self, task: str, attribute: str) -> int:
        return int(self.item(task)[attribute]["N"])

    def expect_attempts(self, tasks: Iterable[str], attempts: int) -> None:
        """Checks that every task has had this number of attempts."""
        for task in tasks:
            had = self.number(task, "attempts")
            expect(had == attempts, f"{task} had {had} attempts, not {attempts}")
