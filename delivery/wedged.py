"""The states of a CloudFormation stack in which it takes no deployment, and the remedy of each.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html lists the states. A stack whose
creation failed can only be deleted. The CDK CLI deletes such a stack before it deploys again, but not one with
termination protection, which it had switched on before the creation began. `make_way` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, WaiterError

#: A creation that failed: the stack holds nothing but what its template retains, and can only be deleted.
_NEVER_CREATED = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")
#: A change set that was never executed: the CDK CLI goes on from there.
_NOT_BEGUN = "REVIEW_IN_PROGRESS"
_REMEDIES = {
    "UPDATE_ROLLBACK_FAILED": "aws cloudformation continue-update-rollback --stack-name {name}; where a resource still"
    " fails, add --resources-to-skip <its logical id>",
    "UPDATE_FAILED": "aws cloudformation rollback-stack --stack-name {name}",
    "DELETE_FAILED": "aws cloudformation delete-stack --stack-name {name}; where a resource still fails, add"
    " --retain-resources <its logical id>",
}
#: Deleting a table or a VPC's interfaces takes minutes.
_DELETION = {"Delay": 5, "MaxAttempts": 360}


class Wedged(RuntimeError):
    """The stack takes no deployment; the message says why, and what to do."""


def state(client: Any, name: str) -> dict[str, Any] | None:
    """What CloudFormation says of a stack, or `None` where there is none of that name."""
    try:
        return client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise


def was_never_created(status: str) -> bool:
    """Whether the stack is what a creation that failed left behind."""
    return status in _NEVER_CREATED


def problem(name: str, status: str) -> tuple[str, str] | None:
    """Why a stack in this state takes no deployment, and the remedy; `None` if it takes one."""
    if status.endswith("_IN_PROGRESS") and status != _NOT_BEGUN:
        return f"{name} is {status}", "wait until the running operation has ended, then run this again"
    if was_never_created(status):
        return f"the creation of {name} failed ({status})", "make deploy deletes what is left of it, when you agree"
    if status.endswith("_FAILED"):
        generic = "aws cloudformation describe-stack-events --stack-name {name} names the resource that failed"
        return f"{name} is {status}", _REMEDIES.get(status, generic).format(name=name)
    return None


def make_way(client: Any, name: str, agreed: Callable[[str], bool], say: Callable[[str], None]) -> bool:
    """Delete what is left of a creation that failed, if `agreed`; returns whether the stack takes a deployment.

    Raises `Wedged` for any other state that takes none, and where the deletion is not allowed or fails.
    """
    try:
        found = state(client, name)
        if found is None:
            return True
        status = found["StackStatus"]
        if not was_never_created(status):
            stands = problem(name, status)
            if stands is not None:
                raise Wedged(f"{stands[0]}. Remedy: {stands[1]}")
            return True
        say(f"{name}: an earlier creation failed ({status}){_reason(client, found['StackId'])}")
        for kept in _retained(client, found["StackId"]):
            say(f"{name}: deleting the stack keeps {kept}; delete it yourself if you do not need it")
        if not agreed(f"{name} can only be deleted and created again. Delete it?"):
            return False
        _delete(client, name, found, say)
    except WaiterError as error:
        raise Wedged(
            f"{name} could not be deleted: {_deletion_failure(client, found['StackId']) or error}. "
            f"Remedy: {_REMEDIES['DELETE_FAILED'].format(name=name)}"
        ) from error
    except (BotoCoreError, ClientError) as error:
        raise Wedged(
            f"{name}: {error}. Remedy: signed in with more rights, run aws cloudformation"
            f" update-termination-protection --no-enable-termination-protection --stack-name {name}"
            f" && aws cloudformation delete-stack --stack-name {name}, then run this again"
        ) from error
    return True


def _delete(client: Any, name: str, found: dict[str, Any], say: Callable[[str], None]) -> None:
    if found.get("EnableTerminationProtection"):
        client.update_termination_protection(StackName=name, EnableTerminationProtection=False)
    client.delete_stack(StackName=name)
    # By its id: a name no longer finds a stack that is deleted.
    client.get_waiter("stack_delete_complete").wait(StackName=found["StackId"], WaiterConfig=_DELETION)
    say(f"{name}: deleted what was left of it")


def _retained(client: Any, stack_id: str) -> list[str]:
    """The resources that the failed creation made and did not delete, each with its type and name."""
    return [
        f"{event['ResourceType']} {event['PhysicalResourceId']}"
        for event in _events(client, stack_id)
        if event["ResourceStatus"] in ("DELETE_SKIPPED", "DELETE_FAILED") and event.get("PhysicalResourceId")
    ]


def _reason(client: Any, stack_id: str) -> str:
    """Why the creation failed: the reason of the first resource that did."""
    reasons = _reasons(client, stack_id, "CREATE_FAILED")
    return f": {reasons[0]}" if reasons else ""


def _deletion_failure(client: Any, stack_id: str) -> str:
    reasons = _reasons(client, stack_id, "DELETE_FAILED")
    return reasons[0] if reasons else ""


def _reasons(client: Any, stack_id: str, status: str) -> list[str]:
    """The reasons of the events with this status, oldest first; without those that were only cancelled with it."""
    return [
        f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}"
        for event in _events(client, stack_id)
        if event["ResourceStatus"] == status
        and event["LogicalResourceId"] != event["StackName"]
        and "cancelled" not in event.get("ResourceStatusReason", "cancelled")
    ]


def _events(client: Any, stack_id: str) -> list[dict[str, Any]]:
    """What has happened to a stack, oldest first."""
    pages = client.get_paginator("describe_stack_events").paginate(StackName=stack_id)
    return [event for page in pages for event in page["StackEvents"]][::-1]
