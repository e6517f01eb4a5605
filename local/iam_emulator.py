"""The emulator with IAM enforced, by TLS: what `local.serving` adds to it then.

ministack evaluates every policy with ``AUTH=true``, resource policies and conditions included. What
it lacks is added here, so that the policies stay exactly the synthesized ones:

- a batch needs the permission of its single calls, and has no action of its own
  (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsns.html,
  https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html);
- the condition key ``dynamodb:LeadingKeys``, which separates the control item from tasks
  (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html);
- a line in the file that ``FRESHQ_IAM_DECISIONS`` names for every decision about a role, so that a
  test can tell a rejection from any other failure: see `local.decisions`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb

#: The action that IAM knows, by the one that ministack asks for.
_SINGLE = {
    "sns:PublishBatch": "sns:Publish",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:SendMessageBatch": "sqs:SendMessage",
}


def leading_keys(request: dict[str, Any], partition_key: str) -> list[str]:
    """The values of `partition_key` in the item that a request names, as IAM has them.

    A query names none here: the policies say nothing about the keys of an index.
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
        refused = enforce(access_key, action, *arguments, **options)
        caller = iam_evaluator.resolve_caller_identity(access_key) or {}
        # The account's root may do everything, without a decision.
        if ":assumed-role/" in caller.get("userArn", ""):
            _, role, session = caller["userArn"].split("/")
            decision = {
                "role": role,
                "session": session,
                "action": action,
                "resource": options.get("resource_arn", "*"),
                "allowed": refused is None,
            }
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(decision) + "\n")
        return refused

    return recorded


def install(decisions: str) -> None:
    """Change ministack, which this process is about to be, and record its decisions in that file."""
    iam_actions.dynamodb_service_context = _with_leading_keys(iam_actions.dynamodb_service_context)
    iam_evaluator.enforce = _with_record(iam_evaluator.enforce, decisions)
    # With TLS it would listen on port 443 too, for clients that this project does not have.
    app._port_is_bindable = lambda _host, _port: False
