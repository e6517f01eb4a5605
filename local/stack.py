"""A client for a deployed stack: its outputs, functions and logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

S = TypeVar("S", bound="DeployedStack")

# The read timeout exceeds a turn, because a synchronous invocation waits up to a minute for the end of one.
_AWS_CONFIG = Config(
    read_timeout=180, connect_timeout=10, retries={"total_max_attempts": 5, "mode": "standard"}
)
#: The emulator doesn't throttle, so errors are raised without a retry. Requests don't use a proxy.
_LOCAL_CONFIG = Config(
    read_timeout=180,
    connect_timeout=10,
    retries={"total_max_attempts": 1, "mode": "standard"},
    max_pool_connections=32,
    proxies={},
)


def exists(cloudformation: Any, stack: str) -> bool:
    try:
        cloudformation.describe_stacks(StackName=stack)
    except ClientError as error:
        if "does not exist" in str(error):
            return False
        raise
    return True


def settings_variable(binary: str) -> str:
    return f"SETTINGS_{binary.upper().replace('-', '_')}"


def changed(
    environment: dict[str, str], binary: str, variables: dict[str, str], settings: dict[str, Any]
) -> dict[str, str]:
    """A function's environment with changed variables, and with changed settings merged into their groups."""
    if not settings:
        return environment | variables
    name = settings_variable(binary)
    return environment | variables | {name: json.dumps(_merged(json.loads(environment[name]), settings))}


def _merged(group: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    inner = {
        name: _merged(group.get(name, {}), value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return group | inner


class InvocationFailed(RuntimeError):
    """Raised if a function returns an error. The message contains the error."""


@dataclass
class DeployedStack:
    session: boto3.Session
    #: The emulator's endpoint; None on AWS.
    endpoint: str | None
    stack: str
    outputs: dict[str, str]
    _physical: dict[str, str]
    _clients: dict[str, Any] = field(default_factory=dict)
    _functions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def find(cls: type[S], session: boto3.Session, endpoint: str | None, stack: str) -> S:
        """Reads the outputs and resources of `stack` from CloudFormation at `endpoint` (None: AWS)."""
        found = cls(session, endpoint, stack, {}, {})
        cloudformation = found.client("cloudformation")
        description = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        found.outputs = {o["OutputKey"]: o["OutputValue"] for o in description.get("Outputs", [])}
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        found._physical = {
            summary["LogicalResourceId"]: summary.get("PhysicalResourceId", "")
            for page in pages
            for summary in page["StackResourceSummaries"]
        }
        return found

    @property
    def local_endpoint(self) -> str:
        """The emulator's endpoint. Raises `RuntimeError` for a stack on AWS."""
        if self.endpoint is None:
            raise RuntimeError(f"{self.stack} is deployed on AWS, not on the local AWS")
        return self.endpoint

    def client(self, service: str) -> Any:
        """A boto3 client for `service` at the stack's endpoint, created once."""
        if service not in self._clients:
            config = _AWS_CONFIG if self.endpoint is None else _LOCAL_CONFIG
            self._clients[service] = self.session.client(
                service, endpoint_url=self.endpoint, config=config
            )
        return self._clients[service]

    def physical_id(self, logical_id: str) -> str:
        """The deployed name of the resource with this template id."""
        return self._physical[logical_id]

    def function(self, binary: str) -> str:
        """The deployed name of the function built from `binary`."""
        if binary not in self._functions:
            self._functions[binary] = self._find_function(binary)
        return self._functions[binary]

    def _find_function(self, binary: str) -> str:
        output = "".join(word.capitalize() for word in binary.split("-")) + "FunctionName"
        if output in self.outputs:
            return self.outputs[output]
        # The construct id is the name of the binary. CloudFormation logical ids can't contain dashes.
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
        """Invokes a function and waits for its response. Raises `InvocationFailed` on error."""
        response = self.client("lambda").invoke(
            FunctionName=self.function(binary), Payload=json.dumps(event).encode()
        )
        body = json.loads(response["Payload"].read() or b"null")
        if "FunctionError" in response:
            raise InvocationFailed(f"{binary}: {json.dumps(body)}")
        return body

    def environment(self, binary: str) -> dict[str, str]:
        configuration = self.client("lambda").get_function_configuration(
            FunctionName=self.function(binary)
        )
        return dict(configuration.get("Environment", {}).get("Variables", {}))

    def settings(self, binary: str) -> dict[str, Any]:
        return dict(json.loads(self.environment(binary)[settings_variable(binary)]))

    def set_environment(
        self, binary: str, changes: dict[str, str] | None = None, settings: dict[str, Any] | None = None
    ) -> dict[str, str]:
        """Changes some variables and settings of a deployed function and returns the previous environment."""
        before = self.environment(binary)
        self.replace_environment(binary, changed(before, binary, changes or {}, settings or {}))
        return before

    def replace_environment(self, binary: str, variables: dict[str, str]) -> None:
        """Sets a deployed function's environment to exactly these variables and waits until they apply."""
        client, name = self.client("lambda"), self.function(binary)
        client.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
        client.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1})

    @contextmanager
    def changed(self, binary: str, settings: dict[str, Any] | None = None, **variables: str) -> Iterator[None]:
        """Gives a function different settings and variables while the block runs."""
        before = self.set_environment(binary, variables, settings)
        try:
            yield
        finally:
            self.replace_environment(binary, before)

    def failure_queue(self, binary: str) -> str:
        """The URL of the queue for a function's discarded asynchronous events."""
        settings = self.client("lambda").get_function_event_invoke_config(
            FunctionName=self.function(binary), Qualifier="$LATEST"
        )
        queue = settings["DestinationConfig"]["OnFailure"]["Destination"].rpartition(":")[2]
        url: str = self.client("sqs").get_queue_url(QueueName=queue)["QueueUrl"]
        return url

    def empty_queues(self) -> None:
        """Deletes every message in the stack's SQS queues, including failure and dead-letter queues."""
        sqs = self.client("sqs")
        for page in sqs.get_paginator("list_queues").paginate(QueueNamePrefix=self.stack):
            for url in page.get("QueueUrls", []):
                sqs.purge_queue(QueueUrl=url)

    def log_messages(self, binary: str, since_ms: int) -> list[dict[str, Any]]:
        """The JSON lines that a function logged since `since_ms` (epoch), oldest first.

        Platform lines (START, END, REPORT) aren't JSON and are excluded.
        """
        pages = self.client("logs").get_paginator("filter_log_events").paginate(
            logGroupName=self.log_group(binary), startTime=since_ms
        )
        lines = (event["message"] for page in pages for event in page["events"])
        return [parsed for parsed in map(_json_object, lines) if parsed is not None]

    def log_group(self, binary: str) -> str:
        name = self.function(binary)
        configuration = self.client("lambda").get_function_configuration(FunctionName=name)
        return configuration.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{name}"


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None
