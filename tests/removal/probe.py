"""A probe makes a function perform one operation that the function must be able to perform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from local.stack import DeployedStack


#: The error of an invocation if the emulator stopped its process because the function was changed.
PROCESS_ENDED = "Runtime exited before returning a response"


class Unmet(RuntimeError):
    """Raised if a function did not perform the operation. The message contains the function's response."""


@dataclass(frozen=True)
class Probe:
    """Makes a function perform an operation, and raises an error if it fails.

    `run` raises `Unmet`, or `InvocationFailed` if the function returns an error.
    """

    function: str
    what: str
    run: Callable[[], None]
    #: The function's environment variables during the probe.
    environment: dict[str, str] = field(default_factory=dict)
    #: The function's settings during the probe.
    settings: dict[str, Any] = field(default_factory=dict)


def demand(holds: bool, said: object) -> None:
    if not holds:
        raise Unmet(str(said))


def still(stack: DeployedStack) -> None:
    """Deletes all event source mappings and subscriptions, so that only probes invoke functions."""
    functions, sns = stack.client("lambda"), stack.client("sns")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.delete_event_source_mapping(UUID=mapping["UUID"])
    for subscription in sns.list_subscriptions()["Subscriptions"]:
        sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])


def redelivers(stack: DeployedStack, function: str, url: str, message: dict[str, str]) -> None:
    """Requires that a function soon makes a message from the queue at `url` visible again if it can't process it."""
    sqs = stack.client("sqs")
    sqs.purge_queue(QueueUrl=url)
    sqs.send_message(QueueUrl=url, **message)
    (sent,) = sqs.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"]
    record = {
        "messageId": sent["MessageId"],
        "receiptHandle": sent["ReceiptHandle"],
        "body": sent["Body"],
        "attributes": sent["Attributes"],
        "eventSource": "aws:sqs",
    }
    response = stack.invoke(function, {"Records": [record]})
    demand(response["batchItemFailures"] == [{"itemIdentifier": sent["MessageId"]}], response)
    # Otherwise, the message would be redelivered minutes later, after the queue's visibility timeout.
    again = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=4).get("Messages", [])
    demand([each["MessageId"] for each in again] == [sent["MessageId"]], "it is not redelivered")
