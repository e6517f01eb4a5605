"""Sets the properties that the emulator's CloudFormation drops, through the APIs of the services.

ministack accepts a template's reserved concurrency, recursive-loop setting, TTL and
point-in-time recovery, but applies them only if they are set through their own APIs. This module reads each value from
the synthesized template. A deployment to AWS doesn't use it.
"""

from __future__ import annotations

from typing import Any, Callable

from botocore.exceptions import ClientError

from local.assembly import Assembly, Resource

FUNCTION = "AWS::Lambda::Function"
TABLE = "AWS::DynamoDB::Table"
GLOBAL_TABLE = "AWS::DynamoDB::GlobalTable"


def apply(assembly: Assembly, physical_id: Callable[[str], str], lambda_: Any, dynamodb: Any) -> list[str]:
    """Applies the dropped settings and returns one line of text per setting.

    `physical_id` returns the deployed name for a logical id. `lambda_` and `dynamodb` are boto3 clients.
    """
    applied: list[str] = []
    for function in assembly.resources(FUNCTION):
        applied += _apply_to_function(function, physical_id(function.logical_id), lambda_)
    for table in assembly.resources(TABLE, GLOBAL_TABLE):
        applied += _apply_to_table(table, physical_id(table.logical_id), dynamodb)
    return applied


def _apply_to_function(function: Resource, name: str, lambda_: Any) -> list[str]:
    applied = []
    reserved = function.properties.get("ReservedConcurrentExecutions")
    if reserved is not None:
        lambda_.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=int(reserved))
        applied.append(f"{function.logical_id}: reserved concurrency {reserved}")
    recursive_loop = function.properties.get("RecursiveLoop")
    if recursive_loop is not None:
        lambda_.put_function_recursion_config(FunctionName=name, RecursiveLoop=recursive_loop)
        applied.append(f"{function.logical_id}: recursive loop {recursive_loop}")
    return applied


def _apply_to_table(table: Resource, name: str, dynamodb: Any) -> list[str]:
    applied = []
    ttl = table.properties.get("TimeToLiveSpecification")
    if ttl and ttl.get("Enabled"):
        _ignore_already_enabled(
            lambda: dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=dict(ttl))
        )
        applied.append(f"{table.logical_id}: TTL on {ttl['AttributeName']}")
    recovery = _point_in_time_recovery(table)
    if recovery is not None and recovery.get("PointInTimeRecoveryEnabled"):
        dynamodb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=dict(recovery))
        applied.append(f"{table.logical_id}: point-in-time recovery")
    return applied


def _point_in_time_recovery(table: Resource) -> dict[str, Any] | None:
    """Returns a table's point-in-time recovery setting, or the one for a TableV2's replica in the stack's region."""
    if table.type == GLOBAL_TABLE:
        return table.properties["Replicas"][0].get("PointInTimeRecoverySpecification")
    return table.properties.get("PointInTimeRecoverySpecification")


def _ignore_already_enabled(call: Callable[[], Any]) -> None:
    """Runs `call` and ignores the UpdateTimeToLive error if TTL is already enabled."""
    try:
        call()
    except ClientError as error:
        if "already enabled" not in str(error):
            raise
