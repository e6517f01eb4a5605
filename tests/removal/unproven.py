"""Lists the permissions whose removal has no effect on the local AWS, with the reason for each."""

from __future__ import annotations

from dataclasses import dataclass

from tests.removal.permissions import Permission


@dataclass(frozen=True)
class Unproven:
    """Actions that AWS performs with the function's role, whereas the local AWS performs them without an IAM check."""

    actions: frozenset[str]
    #: The suffix of the resource's construct path.
    ending: str
    reason: str


UNPROVEN = (
    Unproven(
        frozenset({"logs:CreateLogStream", "logs:PutLogEvents"}),
        "/logs",
        "Lambda writes the logs; the local AWS stores them itself",
    ),
    Unproven(
        frozenset({"sqs:SendMessage"}),
        "/failures",
        "Lambda sends failed events; the local AWS does so without an IAM check",
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
        "Lambda reads the stream; the local AWS does so without an IAM check",
    ),
    Unproven(
        frozenset({"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}),
        "/queue",
        "Lambda reads the queue; the local AWS does so without an IAM check",
    ),
)


def reason_for(permission: Permission, path: str) -> str | None:
    """The reason why the need for a permission can't be proven, if any."""
    for unproven in UNPROVEN:
        if permission.action in unproven.actions and path.endswith(unproven.ending):
            return unproven.reason
    return None
