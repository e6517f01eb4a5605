"""Tasks through the SQS ingest queue, and the dead-letter queue for invalid messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from expectations import NO_TABLE, number, takes, wait_for

from local import iot_presence
from local.agents import fresh
from local.assembly import Assembly
from local.events import sqs_record
from local.history import History
from local.queue_reader import QueueReader, Message
from local.queue import DeployedQueue
from local.waiting import now_ms, wait_until


@pytest.fixture(scope="session")
def dead_letters(deployed: DeployedQueue) -> QueueReader:
    return QueueReader(deployed.client("sqs"), deployed.outputs["IngestDeadLetterQueueUrl"])


@pytest.fixture(scope="session")
def shed_tasks(deployed: DeployedQueue) -> QueueReader:
    return QueueReader(deployed.client("sqs"), deployed.outputs["ShedTasksQueueUrl"])


def test_one_task_is_created_and_succeeds(queue: DeployedQueue, history: History) -> None:
    task_id = fresh("one")
    payload = {"n": 1.5, "list": [1, "two", {"deep": None}]}
    message_id = send(queue, {"taskId": task_id, "payload": payload, "ttlSeconds": 600})
    wait_for(queue, [task_id])
    assert takes(history, [task_id]) == {task_id: 1}
    assert queue.status(message_id) is None, "the task has its own id, not that of the message"


def test_task_id_and_creation_time_default_to_those_of_the_message(queue: DeployedQueue) -> None:
    began = now_ms()
    message_id = send(queue, {"payload": {}})
    sent = now_ms()
    wait_for(queue, [message_id])
    assert began - 1 <= number(item(queue, message_id), "taskCreated") <= sent + 1


def test_array_creates_one_task_per_element(queue: DeployedQueue) -> None:
    named = fresh("named")
    message_id = send(queue, [{"payload": {"n": 0}}, {"taskId": named}, {"payload": {"n": 2}}])
    wait_for(queue, [f"{message_id}#0", named, f"{message_id}#2"])
    assert queue.status(f"{message_id}#1") is None


def test_device_connection_creates_one_task_even_if_published_twice(queue: DeployedQueue, template: Assembly) -> None:
    event = {
        "clientId": fresh("device"),
        "timestamp": now_ms(),
        "eventType": "connected",
        "sessionIdentifier": fresh("session"),
        "ipAddress": "192.0.2.8",
        "versionNumber": 0,
    }
    iot_presence.check(template)
    task = iot_presence.message(event, now_ms())
    # IoT can publish an event twice.
    send(queue, task)
    send(queue, task)
    wait_for(queue, [task["key"]])
    created = item(queue, task["key"])
    assert number(created, "taskCreated") == event["timestamp"]
    payload = created["payload"]["M"]
    assert payload["clientId"] == {"S": event["clientId"]}
    assert payload["ipAddress"] == {"S": event["ipAddress"]}


def test_invalid_messages_go_to_the_dead_letter_queue_with_a_reason_and_valid_ones_do_not(
    queue: DeployedQueue, dead_letters: QueueReader
) -> None:
    good, future = fresh("good"), now_ms() + 3_600_000
    wrong = {
        "{not JSON": "JSON",
        json.dumps({"taskId": fresh("x"), "ttlSeconds": -1}): "ttlSeconds",
        json.dumps({"taskId": "#processor"}): "taskId",
        json.dumps({"taskId": fresh("x"), "taskCreated": now_ms() // 1000}): "taskCreated",
        json.dumps({"taskId": fresh("x"), "taskCreated": future}): "taskCreated",
        json.dumps({"Type": "Notification", "TopicArn": "arn", "Message": "{}"}): "raw message",
    }
    ids = {body: send_text(queue, body) for body in wrong}
    send(queue, {"taskId": good})
    wait_for(queue, [good])
    for body, names in wrong.items():
        (letter,) = dead_letters.wait_for(with_text(body), 20, f"the message {body} in the dead-letter queue")
        assert names in letter.attributes["reason"]
        assert letter.attributes["messageId"] == ids[body]
        assert queue.status(ids[body]) is None


def test_only_the_invalid_elements_of_an_array_go_to_the_dead_letter_queue(
    queue: DeployedQueue, dead_letters: QueueReader
) -> None:
    first, last = fresh("first"), fresh("last")
    wrong = {"taskId": fresh("wrong"), "ttlSeconds": "soon"}
    message_id = send(queue, [{"taskId": first}, wrong, {"taskId": last}])
    wait_for(queue, [first, last])
    (letter,) = dead_letters.wait_for(about(message_id), 20, "the invalid element")
    assert letter.json() == [wrong]
    assert "element 1" in letter.attributes["reason"] and "ttlSeconds" in letter.attributes["reason"]
    assert queue.status(wrong["taskId"]) is None


def test_redelivered_message_creates_its_task_once(queue: DeployedQueue) -> None:
    message = sqs_record("ingest-tasks", {"payload": {"version": 1}}, sent=now_ms() - 5_000)
    assert queue.invoke("ingest-tasks", {"Records": [message]}) == {"batchItemFailures": []}
    wait_for(queue, [message["messageId"]])
    before = item(queue, message["messageId"])
    assert number(before, "taskCreated") == int(message["attributes"]["SentTimestamp"])
    assert queue.invoke("ingest-tasks", {"Records": [message]}) == {"batchItemFailures": []}
    assert item(queue, message["messageId"]) == before


def test_an_expired_task_is_shed_and_sent_to_the_shed_queue(
    queue: DeployedQueue, shed_tasks: QueueReader
) -> None:
    late, alive = fresh("late"), fresh("alive")
    send(
        queue,
        [
            {"taskId": late, "taskCreated": now_ms() - 60_000, "ttlSeconds": 30, "payload": {"n": 1}},
            {"taskId": alive, "taskCreated": now_ms() - 60_000, "ttlSeconds": 120},
        ],
    )
    wait_for(queue, [alive])
    (shed,) = shed_tasks.wait_for(lambda m: m.json()["taskId"] == late, 20, "the shed task")
    assert shed.json()["payload"] == {"n": 1}
    assert queue.status(late) is None


def test_only_a_message_that_cannot_be_written_is_redelivered(
    queue: DeployedQueue, dead_letters: QueueReader
) -> None:
    """A missing table simulates a DynamoDB that does not respond."""
    task_id = fresh("again")
    good, wrong = (sqs_record("ingest-tasks", body) for body in ({"taskId": task_id}, {"ttlSeconds": 0}))
    with queue.changed("ingest-tasks", TASK_TABLE_NAME=NO_TABLE):
        response = queue.invoke("ingest-tasks", {"Records": [good, wrong]})
        assert response == {"batchItemFailures": [{"itemIdentifier": good["messageId"]}]}
        dead_letters.wait_for(about(wrong["messageId"]), 20, "the invalid task of the same batch")


def test_a_message_that_could_not_be_written_is_redelivered_soon(queue: DeployedQueue) -> None:
    task_id, began = fresh("soon"), now_ms()
    soon = {"ingest": {"visibility": {"baseMs": 1000}}}
    with queue.changed("ingest-tasks", soon, TASK_TABLE_NAME=NO_TABLE):
        send(queue, {"taskId": task_id})
        wait_until(
            lambda: any(line.get("returned") for line in queue.log_messages("ingest-tasks", began)),
            20,
            "an ingest that returns a message",
        )
        assert queue.status(task_id) is None
    # The queue's own visibility timeout is three minutes.
    wait_for(queue, [task_id], seconds=60)


def test_a_message_of_a_failed_invocation_creates_its_task_once(
    queue: DeployedQueue, history: History
) -> None:
    task_id = fresh("died")
    with visibility(queue, seconds=2):
        with queue.changed("ingest-tasks", TASK_TABLE_NAME=""):
            send(queue, {"taskId": task_id})
            wait_until(lambda: hidden(queue) > 0, 20, "a message in work")
        wait_for(queue, [task_id], seconds=60)
    assert takes(history, [task_id]) == {task_id: 1}


def test_a_message_that_fails_every_time_goes_to_the_dead_letter_queue(
    queue: DeployedQueue, dead_letters: QueueReader
) -> None:
    text = json.dumps({"taskId": fresh("doomed")})
    with visibility(queue, seconds=1, most_receives=2), queue.changed("ingest-tasks", TASK_TABLE_NAME=""):
        send_text(queue, text)
        (letter,) = dead_letters.wait_for(with_text(text), 60, "the message in the dead-letter queue")
    assert "reason" not in letter.attributes, "SQS itself moved it, so there is no reason"


def send(queue: DeployedQueue, body: Any) -> str:
    return send_text(queue, json.dumps(body))


def send_text(queue: DeployedQueue, text: str) -> str:
    url = queue.outputs["IngestQueueUrl"]
    return queue.client("sqs").send_message(QueueUrl=url, MessageBody=text)["MessageId"]


def item(queue: DeployedQueue, task_id: str) -> dict[str, Any]:
    """A task that must exist, as DynamoDB JSON."""
    found = queue.item(task_id)
    assert found is not None, f"{task_id} is not in the table"
    return found


def with_text(text: str) -> Any:
    return lambda message: message.body == text


def about(message_id: str) -> Any:
    """Returns a check that a message in the dead-letter queue comes from this message."""

    def is_about(message: Message) -> bool:
        return message.attributes.get("messageId") == message_id

    return is_about


@contextmanager
def visibility(
    queue: DeployedQueue, *, seconds: int, most_receives: int | None = None
) -> Iterator[None]:
    """Changes the ingest queue's visibility timeout and maximum receives while the block runs."""
    sqs, url = queue.client("sqs"), queue.outputs["IngestQueueUrl"]
    names = ["VisibilityTimeout", "RedrivePolicy"]
    before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    changed = {"VisibilityTimeout": str(seconds)}
    if most_receives is not None:
        policy = json.loads(before["RedrivePolicy"]) | {"maxReceiveCount": most_receives}
        changed["RedrivePolicy"] = json.dumps(policy)
    sqs.set_queue_attributes(QueueUrl=url, Attributes=changed)
    try:
        yield
    finally:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=before)


def hidden(queue: DeployedQueue) -> int:
    """The number of messages in flight: received, not deleted, and not yet visible again."""
    name = "ApproximateNumberOfMessagesNotVisible"
    attributes = queue.client("sqs").get_queue_attributes(
        QueueUrl=queue.outputs["IngestQueueUrl"], AttributeNames=[name]
    )
    return int(attributes["Attributes"][name])
