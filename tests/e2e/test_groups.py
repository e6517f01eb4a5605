"""Groups of a deployed queue, with a noisy tenant, and with an outage, a limit and a pause of one tenant."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from email.message import Message
from typing import Any

import apps
import commands
import pytest
from expectations import runs_on, wait_for

from local.emulator import Emulator, local_environment
from local.http_endpoint import http_endpoint
from local.queue import DeployedQueue, chunks
from local.waiting import now_ms, wait_until

STACK = "Tenants"
APP = """
import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LifoQueue, TaskRunner } from 'freshq';

const stack = new Stack(new App(), 'Tenants');
const queue = new LifoQueue(stack, 'queue', {
  runner: TaskRunner.http({ url: 'https://api.example.com/orders' }),
  processing: { concurrency: 4, groups: { breaker: true } },
  ingest: {},
  deletionProtection: false,
  removalPolicy: RemovalPolicy.DESTROY,
});
queue.exportOutputs();
"""
QUIET = ("globex", "initech", "umbrella")
#: The number of messages that SQS accepts per request.
BATCH = 10

Freshq = Callable[..., Any]


class Tenants:
    """The downstream of all tenants, which records each call and the number of active calls per tenant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: Counter[str] = Counter()
        self.calls: list[str] = []
        self.most: Counter[str] = Counter()
        #: Tenants whose host responds with 502.
        self.down: set[str] = set()
        #: The barrier per tenant at which its first two calls wait for each other, so that both are active at once.
        self.meeting: dict[str, threading.Barrier] = {}

    def respond(self, body: bytes, _: Message) -> tuple[int, dict[str, str]]:
        task_id = json.loads(body)["taskId"]
        tenant = task_id.partition("/")[0]
        with self._lock:
            self.calls.append(task_id)
            self._active[tenant] += 1
            self.most[tenant] = max(self.most[tenant], self._active[tenant])
            meeting = self.meeting.get(tenant) if self.of(tenant) <= 2 else None
        if meeting:
            meeting.wait(60)
        time.sleep(0.05)
        with self._lock:
            self._active[tenant] -= 1
        return (502 if tenant in self.down else 200), {}

    def of(self, tenant: str) -> int:
        """The number of calls for a tenant so far."""
        return sum(call.startswith(f"{tenant}/") for call in self.calls)


@pytest.fixture(scope="module")
def deployed_groups(local_aws: Emulator) -> DeployedQueue:
    return apps.deployed(local_aws, STACK, APP)


@pytest.fixture
def tenants(deployed_groups: DeployedQueue) -> Iterator[Tenants]:
    """The downstream of a queue that runs up to four concurrent tasks."""
    tenants = Tenants()
    settings = {"concurrency": 4, "indexLagMs": 200, "heartbeatMs": 1000}
    with http_endpoint(tenants.respond) as url:
        runs_on(deployed_groups, url, settings)
        yield tenants
        deployed_groups.wait_until_idle()


@pytest.fixture
def freshq(deployed_groups: DeployedQueue, command: str) -> Freshq:
    """Runs a verb on the queue and returns its JSON output."""
    run = functools.partial(commands.run, command, local_environment(deployed_groups.local_endpoint))

    def verb(*arguments: str) -> Any:
        ran = run(*arguments, "--stack", STACK, "--output", "json")
        assert ran.returncode == 0, ran
        return json.loads(ran.stdout)

    return verb


def send(queue: DeployedQueue, tasks: dict[str, int], test: str) -> list[str]:
    """Sends this number of tasks per tenant through SQS, waits until they are created, and returns their ids.

    Tasks of tenants listed earlier are older.
    """
    began = now_ms()
    names = [(tenant, f"{test}-{n}") for tenant, count in tasks.items() for n in range(count)]
    messages = [
        {
            "Id": str(n),
            "MessageGroupId": tenant,
            "MessageBody": json.dumps({"taskId": name, "taskCreated": began - len(names) + n, "payload": {}}),
        }
        for n, (tenant, name) in enumerate(names)
    ]
    for batch in chunks(messages, BATCH):
        sent = queue.client("sqs").send_message_batch(QueueUrl=queue.outputs["IngestQueueUrl"], Entries=batch)
        assert not sent.get("Failed"), sent
    ids = [f"{tenant}/{name}" for tenant, name in names]
    wait_until(lambda: queue.statuses().keys() >= set(ids), 60, "every task created")
    return ids


def group(freshq: Freshq, name: str) -> Any:
    [row] = [row for row in freshq("groups")["groups"] if row["group"] == name] or [None]
    return row


def test_noisy_tenant_does_not_delay_quiet_ones(
    deployed_groups: DeployedQueue, tenants: Tenants, freshq: Freshq
) -> None:
    deployed_groups.set_environment("process-tasks", settings={"concurrency": 1})
    freshq("pause", "--for", "10m", "--reason", "a test")
    ids = send(deployed_groups, dict.fromkeys(QUIET, 5) | {"noisy": 60}, "fair")
    row = group(freshq, "noisy")
    assert (row["pending"], row["running"], row["limit"], row["closedUntil"]) == (60, 0, None, None)
    freshq("resume")
    wait_for(deployed_groups, ids)
    assert sorted(tenants.calls) == sorted(ids), "each task ran once"
    last = max(place for place, call in enumerate(tenants.calls) if not call.startswith("noisy/"))
    print(f"the last quiet task was start {last + 1} of {len(ids)}")
    # With one slot, the four tenants take turns. Without groups, the quiet tasks would be last, because they are older.
    assert last < 4 * 5 + 4
    for tenant in (*QUIET, "noisy"):
        starts = [int(call.rpartition("-")[2]) for call in tenants.calls if call.startswith(f"{tenant}/")]
        assert starts == sorted(starts, reverse=True), f"{tenant}: the newest first"


def test_outage_of_one_tenant_fails_no_task_and_does_not_stop_others(
    deployed_groups: DeployedQueue, tenants: Tenants, freshq: Freshq
) -> None:
    tenants.down = {"acme"}
    theirs = send(deployed_groups, {"acme": 4}, "outage")
    others = send(deployed_groups, dict.fromkeys(QUIET, 8), "outage")
    wait_for(deployed_groups, others)
    assert {deployed_groups.status(task) for task in theirs} <= {"PENDING", "TAKEN"}

    paused = freshq("pause", "--group", "acme", "--for", "10m", "--reason", "their host is down")
    assert paused["done"] and paused["paused"]["reason"] == "their host is down"
    # A task of a closed group is not due, so the processor ends.
    deployed_groups.wait_until_idle()
    assert group(freshq, "acme")["pending"] == len(theirs)
    calls = tenants.of("acme")
    wait_for(deployed_groups, send(deployed_groups, {"globex": 3}, "during"))
    deployed_groups.wait_until_idle()
    assert tenants.of("acme") == calls
    assert group(freshq, "acme")["breaker"], "its own circuit breaker is open"
    assert group(freshq, "acme")["closedUntil"] == paused["paused"]["until"]
    assert freshq("status")["groups"]["paused"] == ["acme"]

    tenants.down = set()
    freshq("resume", "--group", "acme")
    wait_for(deployed_groups, theirs)
    assert deployed_groups.count("FAILURE") == 0
    assert freshq("status")["groups"]["paused"] == []


def test_limit_of_one_tenant_does_not_limit_others(
    deployed_groups: DeployedQueue, tenants: Tenants, freshq: Freshq
) -> None:
    tenants.meeting = {"globex": threading.Barrier(2)}
    freshq("pause", "--for", "10m", "--reason", "a test")
    limited = freshq("limit", "--group", "acme", "--concurrency", "1", "--for", "10m", "--reason", "a slow host")
    assert limited["done"] and limited["limit"]["concurrency"] == 1
    ids = send(deployed_groups, {"acme": 12, "globex": 12}, "limit")
    assert group(freshq, "acme")["limit"]["reason"] == "a slow host"
    freshq("resume")
    wait_for(deployed_groups, ids)
    assert tenants.most["acme"] == 1
    assert tenants.most["globex"] > 1
    assert freshq("status")["groups"]["limited"] == ["acme"]
    assert freshq("limit", "--off", "--group", "acme")["limit"] is None
    assert freshq("status")["groups"]["limited"] == []


def test_tasks_of_one_tenant_are_listed_and_cancelled(
    deployed_groups: DeployedQueue, tenants: Tenants, freshq: Freshq
) -> None:
    freshq("pause", "--for", "10m", "--reason", "a test")
    ids = send(deployed_groups, {"acme": 3, "globex": 2}, "cancel")
    theirs, others = ids[:3], ids[3:]
    assert [task["taskId"] for task in freshq("list", "--group", "acme")["tasks"]] == theirs[::-1]
    assert freshq("cancel", "--group", "acme", "--dry-run")["wouldCancel"] == theirs[::-1]
    assert freshq("cancel", "--group", "acme", "--yes")["cancelled"] == 3
    freshq("resume")
    wait_for(deployed_groups, others)
    assert {deployed_groups.status(task) for task in theirs} == {None}
    assert not tenants.of("acme")
