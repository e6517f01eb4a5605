"""The states in which a CloudFormation stack doesn't accept a deployment, and the remedy for each.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html lists the states. A stack whose
creation failed can only be deleted. The CDK CLI deletes such a stack before it deploys again, unless the stack has
termination protection, which the CDK CLI enables before creation. `make_way` also deletes a protected stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, WaiterError

#: States after a failed creation: the stack contains only resources that its template retains, and can only be deleted.
_NEVER_CREATED = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")
#: State of a stack whose change set was never executed. The CDK CLI can deploy such a stack.
_NOT_BEGUN = "REVIEW_IN_PROGRESS"
_REMEDIES = {
    "UPDATE_ROLLBACK_FAILED": "aws cloudformation continue-update-rollback --stack-name {name}; where a resource still"
    " fails, add --resources-to-skip <its logical id>",
    "UPDATE_FAILED": "aws cloudformation rollback-stack --stack-name {name}",
    "DELETE_FAILED": "aws cloudformation delete-stack --stack-name {name}; where a resource still fails, add"
    " --retain-resources <its logical id>",
}
#: Maximum wait for a deletion: 30 minutes, because deleting a table or a VPC's network interfaces takes minutes.
_DELETION = {"Delay": 5, "MaxAttempts": 360}


class Wedged(RuntimeError):
    """Raised if the stack doesn't accept a deployment. The message contains the reason and the remedy."""


def state(client: Any, name: str) -> dict[str, Any] | None:
    """CloudFormation's description of a stack; `None` if the stack doesn't exist."""
    try:
        return client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise


def was_never_created(status: str) -> bool:
    """Whether this is a state after a failed creation."""
    return status in _NEVER_CREATED


def problem(name: str, status: str) -> tuple[str, str] | None:
    """The reason why a stack in this state doesn't accept a deployment, and the remedy; `None` if it does."""
    if status.endswith("_IN_PROGRESS") and status != _NOT_BEGUN:
        return f"{name} is {status}", "wait until the running operation has ended, then run this again"
    if was_never_created(status):
        return f"the creation of {name} failed ({status})", "make deploy deletes the failed stack after confirmation"
    if status.endswith("_FAILED"):
        generic = "aws cloudformation describe-stack-events --stack-name {name} names the resource that failed"
        return f"{name} is {status}", _REMEDIES.get(status, generic).format(name=name)
    return None


def make_way(client: Any, name: str, agreed: Callable[[str], bool], say: Callable[[str], None]) -> bool:
    """Deletes the remains of a failed creation, if `agreed`, and returns whether the stack accepts a deployment.

    Raises `Wedged` for any other state that doesn't accept a deployment, and if the deletion isn't allowed or fails.
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
        try:
            _delete(client, name, found, say)
        except WaiterError as error:
            raise Wedged(
                f"{name} could not be deleted: {_deletion_failure(client, found['StackId']) or error}. "
                f"Remedy: {_REMEDIES['DELETE_FAILED'].format(name=name)}"
            ) from error
    except (BotoCoreError, ClientError) as error:
        raise Wedged(
            f"{name}: {error}. Remedy: signed in with broader permissions, run aws cloudformation"
            f" update-termination-protection --no-enable-termination-protection --stack-name {name}"
            f" && aws cloudformation delete-stack --stack-name {name}, then run this again"
        ) from error
    return True


def _delete(client: Any, name: str, found: dict[str, Any], say: Callable[[str], None]) -> None:
    if found.get("EnableTerminationProtection"):
        client.update_termination_protection(StackName=name, EnableTerminationProtection=False)
    client.delete_stack(StackName=name)
    # A deleted stack can be found by its id, but not by its name.
    client.get_waiter("stack_delete_complete").wait(StackName=found["StackId"], WaiterConfig=_DELETION)
    say(f"{name}: deleted the failed stack")


def _retained(client: Any, stack_id: str) -> list[str]:
    """Resources that remain after the failed stack creation, each as type and physical ID."""
    return [
        f"{event['ResourceType']} {event['PhysicalResourceId']}"
        for event in _events(client, stack_id)
        if event["ResourceStatus"] in ("DELETE_SKIPPED", "DELETE_FAILED") and event.get("PhysicalResourceId")
    ]


def _reason(client: Any, stack_id: str) -> str:
    """The reason why the creation failed, taken from the first failed resource."""
    reasons = _reasons(client, stack_id, "CREATE_FAILED")
    return f": {reasons[0]}" if reasons else ""


def _deletion_failure(client: Any, stack_id: str) -> str:
    reasons = _reasons(client, stack_id, "DELETE_FAILED")
    return reasons[0] if reasons else ""


def _reasons(client: Any, stack_id: str, status: str) -> list[str]:
    """The reasons in events with this status, oldest first, without resources that were only canceled."""
    return [
        f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}"
        for event in _events(client, stack_id)
        if event["ResourceStatus"] == status
        and event["LogicalResourceId"] != event["StackName"]
        and "cancelled" not in event.get("ResourceStatusReason", "cancelled")
    ]


def _events(client: Any, stack_id: str) -> list[dict[str, Any]]:
    pages = client.get_paginator("describe_stack_events").paginate(StackName=stack_id)
    return [event for page in pages for event in page["StackEvents"]][::-1]
