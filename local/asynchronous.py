"""Asynchronous invocations for the emulator, with the retries of AWS Lambda.

The emulator runs a function once per SNS notification or schedule event, and drops the event if the function is
throttled or fails. It retries `Invoke` events, but counts throttles as function errors. This module retries all three
as documented by AWS (https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html):

- a throttled event, up to its maximum age, after 1 s, 2 s, 4 s and so on, with a maximum wait of 5 minutes;
- a function error, the configured number of times (two by default), after 1 and 2 minutes.

After that, the event goes to the failure destination, which must be an SQS queue. If the function's reserved
concurrency is 0, the event goes there immediately.
"""

from __future__ import annotations

import contextvars
import itertools
import json
import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

from ministack.core.responses import new_uuid
from ministack.services import eventbridge, lambda_svc, sns, sqs

_MAXIMUM_RETRY_WAIT = 300.0
#: Seconds before the first and the second retry after a function error.
_FUNCTION_ERROR_WAITS = (60.0, 120.0)

Function = dict[str, Any]


def install() -> None:
    lambda_svc.invoke_async_with_retry = accept  # type: ignore[assignment]
    eventbridge._dispatch_to_lambda = _of_schedule
    # Contains only the names that SNS uses. SNS uses the last one only to deliver a notification.
    sns._lambda_svc = SimpleNamespace(  # type: ignore[assignment]
        _get_func_record_for_ref=lambda_svc._get_func_record_for_ref,
        _execution_record_for_config=lambda_svc._execution_record_for_config,
        _execute_function_with_config_scope=accept,
    )


def accept(function: Function, event: Any) -> None:
    """Accepts an event and delivers it in the background."""
    deliver_in_scope = partial(lambda_svc._run_with_function_config_scope, function, deliver, function, event)
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(deliver_in_scope,), daemon=True).start()


def deliver(function: Function, event: Any, clock: Any = time) -> None:
    """Invokes a function with an event until it succeeds, or until the event goes to the failure destination."""
    arn = function["config"]["FunctionArn"]
    began, throttles, errors = clock.monotonic(), itertools.count(), 0
    while True:
        # The function might have changed since the last attempt.
        current, config, _ = lambda_svc._get_func_record_for_ref(arn)
        if not current or not config:
            return
        settings = lambda_svc._event_invoke_config(current, "$LATEST") or {}
        if current.get("concurrency") == 0:
            return discard(settings, arn, event, "ZeroReservedConcurrency", None)
        result = lambda_svc._execute_function(lambda_svc._execution_record_for_config(current, config), event)
        if not result.get("error"):
            return
        if result.get("throttle"):
            wait = min(2.0 ** next(throttles), _MAXIMUM_RETRY_WAIT)
        elif errors < settings.get("MaximumRetryAttempts", 2):
            wait = _FUNCTION_ERROR_WAITS[errors]
            errors += 1
        else:
            return discard(settings, arn, event, "RetriesExhausted", result)
        remaining = began + settings.get("MaximumEventAgeInSeconds", 21_600) - clock.monotonic()
        clock.sleep(max(0, min(wait, remaining)))
        if wait >= remaining:
            return discard(settings, arn, event, "EventAgeExceeded", result)


def discard(settings: dict[str, Any], arn: str, event: Any, condition: str, result: dict[str, Any] | None) -> None:
    """Sends an event's record to the failure destination, if there is one. `result` is the result of the last attempt."""
    destination = settings.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    queue = sqs._queue_by_arn(destination) if destination else None
    if queue is None:
        return
    record = {
        "version": "1.0",
        "requestContext": {"requestId": new_uuid(), "functionArn": f"{arn}:$LATEST", "condition": condition},
        "requestPayload": event,
    }
    if result is not None and not result.get("throttle"):
        record["responseContext"] = {"statusCode": 200, "functionError": result.get("function_error") or "Unhandled"}
        record["responsePayload"] = result.get("body")
    message = {"id": new_uuid(), "body": json.dumps(record)}
    sqs._ensure_msg_fields(message)
    queue["messages"].append(message)


def _of_schedule(arn: str, payload: str) -> None:
    function, config, _ = lambda_svc._get_func_record_for_ref(arn)
    if function and config:
        accept(lambda_svc._execution_record_for_config(function, config), json.loads(payload))
