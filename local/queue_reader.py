"""Reads the messages of an SQS queue and keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable

from local.stack import DeployedStack
from local.waiting import wait_until


@dataclass(frozen=True)
class Message:
    """One message: its text, its message attributes, and its group in a FIFO queue."""

    body: str
    attributes: dict[str, str]
    group: str | None

    def json(self) -> Any:
        return json.loads(self.body)


class QueueReader:
    """Keeps every message of a queue. Each call first reads the queue until it is empty."""

    def __init__(self, sqs: Any, url: str) -> None:
        self._sqs = sqs
        self._url = url
        self._messages: list[Message] = []

    def messages(self) -> list[Message]:
        """Deletes the messages from the queue and returns all messages so far, in order of arrival."""
        while received := self._receive():
            self._messages += received
        return list(self._messages)

    def wait_for(
        self, wanted: Callable[[Message], bool], seconds: float, what: str
    ) -> list[Message]:
        """Waits for a message that satisfies `wanted` and returns all such messages in order of arrival."""
        wait_until(lambda: any(map(wanted, self.messages())), seconds, what)
        return [message for message in self._messages if wanted(message)]

    def _receive(self) -> list[Message]:
        response = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            AttributeNames=["All"],
        )
        received = response.get("Messages", [])
        if received:
            entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(received)]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        return [
            Message(
                message["Body"],
                {
                    name: attribute["StringValue"]
                    for name, attribute in message.get("MessageAttributes", {}).items()
                },
                message.get("Attributes", {}).get("MessageGroupId"),
            )
            for message in received
        ]


@contextmanager
def queue_of(stack: DeployedStack, name: str, service: str, source: str | None = None) -> Iterator[tuple[str, str]]:
    """Creates a queue that `service` can send to, restricted to `source` if given. Yields the queue's URL and ARN,
    and deletes the queue on exit."""
    sqs = stack.client("sqs")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    try:
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        allowed: dict[str, Any] = {
            "Effect": "Allow",
            "Principal": {"Service": f"{service}.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
        }
        if source is not None:
            allowed["Condition"] = {"ArnEquals": {"aws:SourceArn": source}}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
        yield url, arn
    finally:
        sqs.delete_queue(QueueUrl=url)


@contextmanager
def subscription(stack: DeployedStack, topic_arn: str) -> Iterator[QueueReader]:
    """Yields a reader for a topic's messages, without the SNS envelope, in a queue that exists while the block runs."""
    sns = stack.client("sns")
    with queue_of(stack, f"subscriber-of-{stack.stack}", "sns", topic_arn) as (url, arn):
        subscribed = sns.subscribe(
            TopicArn=topic_arn,
            Protocol="sqs",
            Endpoint=arn,
            Attributes={"RawMessageDelivery": "true"},
            ReturnSubscriptionArn=True,
        )["SubscriptionArn"]
        try:
            yield QueueReader(stack.client("sqs"), url)
        finally:
            sns.unsubscribe(SubscriptionArn=subscribed)
