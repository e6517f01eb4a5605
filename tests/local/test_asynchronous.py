"""Asynchronous invocations on the local AWS are retried and discarded as documented for AWS Lambda."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from ministack.services import eventbridge, lambda_svc, sns, sqs

from local import asynchronous

ARN = "arn:aws:lambda:us-east-1:000000000000:function:any"
FAILURES = "arn:aws:sqs:us-east-1:000000000000:failures"
THROTTLED = {"error": True, "throttle": True, "body": {}}
FAILED = {"error": True, "function_error": "Unhandled", "body": {"errorMessage": "no table"}}
SUCCEEDED: dict[str, Any] = {"body": None}


@dataclass
class Clock:
    """A clock that only `sleep` moves."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)


@dataclass
class Delivered:
    """The observed effects of one delivery."""

    waits: list[float]
    attempts: int
    messages: list[dict[str, Any]]

    @property
    def conditions(self) -> list[str]:
        return [message["requestContext"]["condition"] for message in self.messages]


Deliver = Callable[..., Delivered]


@pytest.fixture
def deliver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deliver]:
    """Delivers an event to a function that returns these results in order and then repeats the last one."""
    sqs.reset()
    sqs._act_create_queue({"QueueName": "failures"}, "")

    def run(*results: dict[str, Any], concurrency: int | None = 1, **settings: int) -> Delivered:
        attempts = 0

        def execute(_function: Any, _event: Any) -> dict[str, Any]:
            nonlocal attempts
            attempts += 1
            return results[min(attempts, len(results)) - 1]

        monkeypatch.setattr(lambda_svc, "_execute_function", execute)
        on_failure = {"DestinationConfig": {"OnFailure": {"Destination": FAILURES}}}
        function = {
            "config": {"FunctionName": "any", "FunctionArn": ARN},
            "concurrency": concurrency,
            "event_invoke_configs": {"$LATEST": on_failure | settings},
        }
        lambda_svc._functions["any"] = function
        clock = Clock()
        asynchronous.deliver(function, {"n": 7}, clock)
        queue = sqs._queue_by_arn(FAILURES)
        assert queue is not None
        return Delivered(clock.waits, attempts, [json.loads(message["body"]) for message in queue["messages"]])

    yield run
    sqs.reset()


@pytest.fixture(autouse=True)
def no_function() -> Iterator[None]:
    yield
    lambda_svc._functions.pop("any", None)


def test_throttled_event_is_retried_until_its_maximum_age(deliver: Deliver) -> None:
    done = deliver(THROTTLED, MaximumEventAgeInSeconds=60)
    assert done.waits == [1, 2, 4, 8, 16, 29]
    assert done.attempts == 6
    assert done.conditions == ["EventAgeExceeded"]
    assert done.messages[0]["requestPayload"] == {"n": 7}
    assert "responsePayload" not in done.messages[0]


def test_wait_between_throttled_attempts_is_at_most_five_minutes(deliver: Deliver) -> None:
    done = deliver(THROTTLED)
    assert max(done.waits) == 300
    assert sum(done.waits) == 21_600


def test_throttled_event_that_then_succeeds_leaves_no_message(deliver: Deliver) -> None:
    done = deliver(THROTTLED, THROTTLED, SUCCEEDED, MaximumRetryAttempts=0)
    assert (done.waits, done.attempts, done.messages) == ([1, 2], 3, [])


def test_function_error_is_retried_twice(deliver: Deliver) -> None:
    done = deliver(FAILED)
    assert (done.waits, done.attempts) == ([60, 120], 3)
    assert done.conditions == ["RetriesExhausted"]
    assert done.messages[0]["responsePayload"] == {"errorMessage": "no table"}


def test_function_error_is_retried_as_often_as_configured(deliver: Deliver) -> None:
    assert deliver(FAILED, MaximumRetryAttempts=0).attempts == 1
    assert deliver(FAILED, SUCCEEDED, MaximumRetryAttempts=1).waits == [60]


def test_event_of_a_function_without_concurrency_is_discarded_at_once(deliver: Deliver) -> None:
    done = deliver(SUCCEEDED, concurrency=0)
    assert (done.waits, done.attempts) == ([], 0)
    assert done.conditions == ["ZeroReservedConcurrency"]


def test_emulator_delivers_every_asynchronous_event_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted: list[Any] = []
    monkeypatch.setattr(asynchronous, "accept", lambda _function, event: accepted.append(event))
    for module, name in ((lambda_svc, "invoke_async_with_retry"), (eventbridge, "_dispatch_to_lambda"), (sns, "_lambda_svc")):
        monkeypatch.setattr(module, name, getattr(module, name))
    asynchronous.install()
    function = {"config": {"FunctionName": "any", "FunctionArn": ARN}, "concurrency": None}
    lambda_svc._functions["any"] = function
    lambda_svc.invoke_async_with_retry(function, {"by": "Invoke"})
    eventbridge._dispatch_to_lambda(ARN, '"by a schedule"')
    sns._deliver_to_lambda(ARN, '{"Message": "by SNS"}', "", "", "", "", {})
    assert accepted[:2] == [{"by": "Invoke"}, "by a schedule"]
    assert accepted[2]["Records"][0]["Sns"] == {"Message": "by SNS"}
