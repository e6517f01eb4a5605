"""Identifies the current AWS account before a change, and lists the resources that a deletion leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local import assembly

_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})


class NoAccount(RuntimeError):
    """Raised if there are no valid AWS credentials. The message contains the remedy."""


def session() -> boto3.Session:
    """A boto3 session with the current credentials and, if one is set, the current region.

    `AWS_REGION` takes precedence, as in the CDK, the AWS CLI and freshq. boto3 itself reads only `AWS_DEFAULT_REGION`.
    """
    return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)


def identify() -> str:
    """The target account and region of a deployment, as `account/region`."""
    if any(name.startswith("AWS_ENDPOINT_URL") for name in os.environ):
        raise NoAccount(
            "AWS_ENDPOINT_URL is set, so this shell uses the local AWS. "
            "Open a new shell to use a real account."
        )
    here = session()
    region = here.region_name
    if not region:
        raise NoAccount("no region: set AWS_REGION, or a region in your profile")
    try:
        identity = here.client("sts", config=_CONFIG).get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise NoAccount(
            f"no valid AWS credentials ({error}). Set AWS_PROFILE, sign in with "
            "`aws sso login`, or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        ) from error
    return f"{identity['Account']}/{region}"


def leftovers(directory: Path, stack: str) -> list[str]:
    """Lines that list the resources that `cdk destroy` retains or can't delete, and the commands that delete them."""
    lines = []
    for resource in assembly.read(directory, stack).resources():
        if not (resource.is_retained or resource.is_protected):
            continue
        states = [
            word
            for word, holds in (("retained", resource.is_retained), ("protected", resource.is_protected))
            if holds
        ]
        lines.append(f"  {resource.logical_id} ({resource.type}): {' and '.join(states)}")
    if not lines:
        return ["No resource of this stack is retained or protected: destroying it deletes all its data."]
    return [
        f"These resources of {stack} are kept from deletion on purpose:",
        *lines,
        "To delete them too (before you destroy the stack, `aws cloudformation"
        f" describe-stack-resources --stack-name {stack}` shows their names):",
        "  aws cloudformation update-termination-protection --no-enable-termination-protection"
        f" --stack-name {stack}",
        "  aws dynamodb update-table --no-deletion-protection-enabled --table-name <name>",
        "  aws dynamodb delete-table --table-name <name>      # after the stack, for a retained table",
        "  aws sqs delete-queue --queue-url <url>             # after the stack, for a retained queue",
        "  aws logs delete-log-group --log-group-name <name>  # after the stack, for a retained group",
    ]
