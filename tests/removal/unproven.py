"""Permissions that cannot be taken away on the local AWS, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tests.removal.permissions import Permission


@dataclass(frozen=True)
class Unproven:
    """AWS itself does this with the function's role; the local AWS does it without asking IAM."""

    actions: frozenset[str]
    #: What the path of the resource's construct ends with; nothing is a resource without a name.
    ending: str
    reason: str


UNPROVEN = (
    Unproven(
        frozenset({"logs:CreateLogStream", "logs:PutLogEvents"}),
        "/logs",
        "Lambda writes the logs; the local one keeps them itself",
    ),
    Unproven(
        frozenset({"xray:PutTraceSegments", "xray:PutTelemetryRecords"}),
        "*",
        "Lambda sends the traces; the local AWS has no X-Ray",
    ),
    Unproven(
        frozenset({"sqs:SendMessage"}),
        "/failures",
        "Lambda sends what failed; the local one does so without asking IAM",
    ),
    Unproven(
        frozenset(
            {
                "dynamodb:DescribeStream",
                "dynamodb:GetRecords",
                "dynamodb:GetShardIterator",
                "dynamodb:ListStreams",
            }
        ),
        "/stream",
        "Lambda reads the stream; the local one does so without asking IAM",
    ),
    Unproven(
        frozenset({"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}),
        "/queue",
        "Lambda reads the queue; the local one does so without asking IAM",
    ),
)


def reason_for(permission: Permission, path: str) -> str | None:
    """Why it cannot be proven that a permission is needed, if there is a reason."""
    for unproven in UNPROVEN:
        if permission.action in unproven.actions and path.endswith(unproven.ending):
            return unproven.reason
    return None
