"""Extensions that `local.serving` adds to the emulator when it enforces IAM.

With ``AUTH=true``, ministack evaluates every policy, including resource policies and conditions. This module adds what
ministack lacks, so that the synthesized policies don't have to change:

- a batch request requires the permission for the single request, because IAM has no actions for batches
  (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsns.html,
  https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html);
- the condition key ``dynamodb:LeadingKeys``, which separates the control item from tasks
  (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html);
- the actions of read requests in the Lambda API, which ministack checks under other names
  (https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html);
- a line per decision about a role, in the file specified by ``FRESHQ_IAM_DECISIONS``. From this file, a test can
  distinguish a denied request from other failures: see `local.decisions`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb

#: The IAM action for each action that ministack checks.
_SINGLE = {
    "sns:PublishBatch": "sns:Publish",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:SendMessageBatch": "sqs:SendMessage",
}

#: The Lambda action of a GET request, by the last part of its path.
_LAMBDA_READS = {
    "concurrency": "GetFunctionConcurrency",
    "event-invoke-config": "GetFunctionEventInvokeConfig",
    "recursion-config": "GetFunctionRecursionConfig",
}


def _with_reads(action_of: Callable[[str, str], str | None]) -> Callable[[str, str], str | None]:
    def action(method: str, path: str) -> str | None:
        *parents, last = path.rstrip("/").split("/")
        if method == "GET" and parents[-1:] == ["event-source-mappings"]:
            return "GetEventSourceMapping"
        if method == "GET" and last in _LAMBDA_READS:
            return _LAMBDA_READS[last]
        return action_of(method, path)

    return action


def leading_keys(request: dict[str, Any], partition_key: str) -> list[str]:
    """The values of `partition_key` in the item that a request specifies, in the format of the condition key.

    Empty for a query, because no policy has a condition on index keys.
    """
    named = (request[name] for name in ("Key", "Item") if name in request)
    return [value for item in named for value in item.get(partition_key, {}).values()]


def _with_leading_keys(context_of: Callable[[bytes], dict[str, Any]]) -> Callable[[bytes], dict[str, Any]]:
    def context(body: bytes) -> dict[str, Any]:
        found = context_of(body)
        request = json.loads(body or b"{}")
        table = dynamodb._tables.get(request.get("TableName", ""))
        if table is not None:
            partition = next(key for key in table["KeySchema"] if key["KeyType"] == "HASH")
            if keys := leading_keys(request, partition["AttributeName"]):
                found["dynamodb:LeadingKeys"] = keys
        return found

    return context


def _with_record(enforce: Callable[..., Any], path: str) -> Callable[..., Any]:
    def recorded(access_key: str, action: str, *arguments: Any, **options: Any) -> Any:
        action = _SINGLE.get(action, action)
        rejected = enforce(access_key, action, *arguments, **options)
        caller = iam_evaluator.resolve_caller_identity(access_key) or {}
        # The account's root user can do everything, so there is no decision to record.
        if ":assumed-role/" in caller.get("userArn", ""):
            _, role, session = caller["userArn"].split("/")
            decision = {
                "role": role,
                "session": session,
                "action": action,
                "resource": options.get("resource_arn", "*"),
                "allowed": rejected is None,
            }
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(decision) + "\n")
        return rejected

    return recorded


def install(decisions: str) -> None:
    """Patches ministack before this process starts it. Its decisions are written to the file `decisions`."""
    iam_actions._lambda_action = _with_reads(iam_actions._lambda_action)  # type: ignore[assignment]
    iam_actions.dynamodb_service_context = _with_leading_keys(iam_actions.dynamodb_service_context)  # type: ignore[assignment]
    iam_evaluator.enforce = _with_record(iam_evaluator.enforce, decisions)
    # Prevents ministack from also listening on port 443 with TLS. No client in this project uses that port.
    app._port_is_bindable = lambda host, port: False
