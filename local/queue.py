"""The deployed queue as a client sees it: its table, its functions and what they logged."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable

import boto3
from botocore.config import Config

from local.contract import CONTROL_ITEM, INDEX, KEY, STATUSES

#: Fields that only the line has which process-tasks logs at the end of every turn.
_TURN_FIELDS = {"tail_call", "empty_polls", "lost_races"}

_CLIENT_CONFIG = Config(
    # A turn may last a minute; a synchronous invocation must outlast it, and must not be
    # repeated by the client, or one invocation would become two.
    read_timeout=180,
    connect_timeout=10,
    retries={"total_max_attempts": 1, "mode": "standard"},
    max_pool_connections=32,
    proxies={},
)


class InvocationFailed(RuntimeError):
    """A function answered with an error; the message holds its diagnostics."""


@dataclass
class DeployedQueue:
    """One deployed `LifoQueue` stack, found by its outputs."""

    session: boto3.Session
    endpoint: str
    stack: str
    outputs: dict[str, str]
    _physical: dict[str, str]
    _clients: dict[str, Any] = field(default_factory=dict)
    _functions: dict[str, str] = field(default_factory=dict)
    _turns_by_hand: list[int] = field(default_factory=list)

    @classmethod
    def find(cls, session: boto3.Session, endpoint: str, stack: str) -> DeployedQueue:
        """Read the outputs and resources of `stack` from CloudFormation at `endpoint`."""
        queue = cls(session, endpoint, stack, {}, {})
        cloudformation = queue.client("cloudformation")
        description = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        queue.outputs = {o["OutputKey"]: o["OutputValue"] for o in description.get("Outputs", [])}
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        queue._physical = {
            summary["LogicalResourceId"]: summary.get("PhysicalResourceId", "")
            for page in pages
            for summary in page["StackResourceSummaries"]
        }
        return queue

    def client(self, service: str) -> Any:
        """A boto3 client of `service` at the stack's endpoint, made once."""
        if service not in self._clients:
            self._clients[service] = self.session.client(
                service, endpoint_url=self.endpoint, config=_CLIENT_CONFIG
            )
        return self._clients[service]

    def physical_id(self, logical_id: str) -> str:
        """The deployed name of the resource with this id in the template."""
        return self._physical[logical_id]

    @property
    def table(self) -> str:
        """The task table's name."""
        return self.outputs["QueueTableName"]

    def function(self, binary: str) -> str:
        """The deployed name of the function built from the binary `binary`."""
        if binary not in self._functions:
            self._functions[binary] = self._find_function(binary)
        return self._functions[binary]

    def _find_function(self, binary: str) -> str:
        output = "".join(word.capitalize() for word in binary.split("-")) + "FunctionName"
        if output in self.outputs:
            return self.outputs[output]
        # Construct id = binary, and CloudFormation's logical ids drop the dashes.
        stem = binary.replace("-", "").lower()
        pages = self.client("lambda").get_paginator("list_functions").paginate()
        deployed = {function["FunctionName"] for page in pages for function in page["Functions"]}
        found = [
            physical
            for logical, physical in self._physical.items()
            if physical in deployed and stem in logical.lower()
        ]
        if len(found) != 1:
            raise LookupError(f"{binary}: {len(found)} functions of {self.stack} match: {found}")
        return found[0]

    def invoke(self, binary: str, event: Any) -> Any:
        """Invoke a function and wait for its answer; raises `InvocationFailed` on an error."""
        answer = self.client("lambda").invoke(
            FunctionName=self.function(binary), Payload=json.dumps(event).encode()
        )
        body = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            raise InvocationFailed(f"{binary}: {json.dumps(body)}")
        return body

    def create(self, tasks: list[dict[str, Any]]) -> dict[str, Any]:
        """Create tasks through create-tasks; its answer lists created, duplicates and failed."""
        return self.invoke("create-tasks", {"tasks": tasks})

    def environment(self, binary: str) -> dict[str, str]:
        """The environment variables of a deployed function."""
        configuration = self.client("lambda").get_function_configuration(
            FunctionName=self.function(binary)
        )
        return dict(configuration.get("Environment", {}).get("Variables", {}))

    def set_environment(self, binary: str, changes: dict[str, str]) -> dict[str, str]:
        """Change some variables of a deployed function; returns the environment as it was."""
        before = self.environment(binary)
        self.replace_environment(binary, before | changes)
        return before

    def replace_environment(self, binary: str, variables: dict[str, str]) -> None:
        """Give a deployed function exactly these variables and wait until they hold."""
        client, name = self.client("lambda"), self.function(binary)
        client.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
        client.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1})

    def item(self, task_id: str) -> dict[str, Any] | None:
        """An item of the table by strongly consistent read, in DynamoDB's own notation."""
        answer = self.client("dynamodb").get_item(
            TableName=self.table, Key={KEY: {"S": task_id}}, ConsistentRead=True
        )
        return answer.get("Item")

    def status(self, task_id: str) -> str | None:
        """A task's status, or None when there is no such task."""
        item = self.item(task_id)
        return item["taskStatus"]["S"] if item else None

    def count(self, status: str) -> int:
        """The number of tasks in a status, by the index."""
        pages = self.client("dynamodb").get_paginator("query").paginate(
            TableName=self.table,
            IndexName=INDEX,
            KeyConditionExpression="taskStatus = :status",
            ExpressionAttributeValues={":status": {"S": status}},
            Select="COUNT",
        )
        return sum(page["Count"] for page in pages)

    def counts(self) -> dict[str, int]:
        """The number of tasks in every status."""
        return {status: self.count(status) for status in STATUSES}

    def is_idle(self) -> bool:
        """Whether nobody holds the processor lease."""
        control = self.item(CONTROL_ITEM) or {}
        return "owner" not in control or int(control["leaseUntil"]["N"]) <= now_ms()

    def log_messages(self, binary: str, since_ms: int) -> list[dict[str, Any]]:
        """The JSON lines that a function logged since `since_ms` (epoch), oldest first.

        Lines of the platform (START, END, REPORT) are no JSON and are left out.
        """
        pages = self.client("logs").get_paginator("filter_log_events").paginate(
            logGroupName=self._log_group(binary), startTime=since_ms
        )
        lines = (event["message"] for page in pages for event in page["events"])
        return [parsed for parsed in map(_json_object, lines) if parsed is not None]

    def turns(self, since_ms: int) -> list[dict[str, Any]]:
        """The summaries that process-tasks logged at the end of its turns since `since_ms`."""
        lines = self.log_messages("process-tasks", since_ms)
        return [line for line in lines if _TURN_FIELDS <= line.keys()]

    def invocations(self, binary: str, since_ms: int) -> int:
        """How many invocations of a function have ended since `since_ms`, turns by hand left out.

        By the platform's own log lines, which the emulator writes at the end.
        """
        pages = self.client("logs").get_paginator("filter_log_events").paginate(
            logGroupName=self._log_group(binary), startTime=since_ms
        )
        ended = sum(
            event["message"].startswith("START RequestId")
            for page in pages
            for event in page["events"]
        )
        by_hand = self._turns_by_hand if binary == "process-tasks" else []
        return ended - sum(at >= since_ms for at in by_hand)

    def turn_by_hand(self) -> Any:
        """Invoke process-tasks past the protocol; returns the turn's summary."""
        self._turns_by_hand.append(now_ms())
        return self.invoke("process-tasks", {})

    def _log_group(self, binary: str) -> str:
        name = self.function(binary)
        configuration = self.client("lambda").get_function_configuration(FunctionName=name)
        return configuration.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{name}"


def wait_until(
    condition: Callable[[], bool], seconds: float, what: str, every: float = 0.2
) -> None:
    """Wait until `condition` holds; raises `TimeoutError` naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)


def wait_for_last_turn(queue: DeployedQueue, since_ms: int, seconds: float = 90) -> None:
    """Wait until the last turn since `since_ms` has ended, and every turn's summary is logged.

    The emulator may hand the last lines of an invocation to the log of the next one. So if
    summaries are missing once nobody is active any more, a turn by hand brings them out.
    """

    def ended() -> bool:
        turns = [turn for turn in queue.turns(since_ms) if not left_at_once(turn)]
        return queue.is_idle() and bool(turns) and not turns[-1]["tail_call"]

    def complete() -> bool:
        return ended() and len(queue.turns(since_ms)) >= queue.invocations("process-tasks", since_ms)

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        wait_until(queue.is_idle, seconds, "the end of the last turn")
        try:
            return wait_until(complete, 5, "every turn's summary", every=0.5)
        except TimeoutError:
            queue.turn_by_hand()
    raise TimeoutError(f"not within {seconds:.0f} s: the summaries of all turns")


def left_at_once(turn: dict[str, Any]) -> bool:
    """Whether a turn found another processor active, by its summary."""
    return turn["exit"].replace("_", "").lower() == "alreadyactive"


def now_ms() -> int:
    """This machine's clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def chunks(items: list[Any], size: int) -> Iterable[list[Any]]:
    """`items` in lists of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None
