"""The deployed task queue is as in the template."""

from __future__ import annotations

from local.assembly import Assembly
from local.contract import INDEX, OUTPUTS
from local.queue import DeployedQueue


def test_every_output_of_the_contract_exists(deployed: DeployedQueue) -> None:
    assert set(OUTPUTS) <= set(deployed.outputs)
    assert all(deployed.outputs[name] for name in OUTPUTS)


def test_reserved_concurrency_and_loops_are_as_in_the_template(
    deployed: DeployedQueue, template: Assembly
) -> None:
    functions = deployed.client("lambda")
    reserved, loops = {}, {}
    for function in template.resources("AWS::Lambda::Function"):
        name = deployed.physical_id(function.logical_id)
        concurrency = functions.get_function_concurrency(FunctionName=name)
        recursion = functions.get_function_recursion_config(FunctionName=name)
        assert concurrency.get("ReservedConcurrentExecutions") == function.properties.get(
            "ReservedConcurrentExecutions"
        )
        assert recursion["RecursiveLoop"] == function.properties.get("RecursiveLoop", "Terminate")
        reserved[name] = concurrency.get("ReservedConcurrentExecutions")
        loops[name] = recursion["RecursiveLoop"]
    assert reserved[deployed.function("process-tasks")] == 2
    assert reserved[deployed.function("trigger")] is None
    assert loops[deployed.function("process-tasks")] == "Allow"
    assert loops[deployed.function("trigger")] == "Allow"


def test_expiry_and_recovery_of_the_table_are_as_in_the_template(
    deployed: DeployedQueue, template: Assembly
) -> None:
    dynamodb = deployed.client("dynamodb")
    (table,) = template.resources("AWS::DynamoDB::Table")
    ttl = dynamodb.describe_time_to_live(TableName=deployed.table)["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "ttl")
    assert table.properties["TimeToLiveSpecification"]["AttributeName"] == "ttl"
    backups = dynamodb.describe_continuous_backups(TableName=deployed.table)
    recovery = backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    wanted = table.properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    assert recovery["PointInTimeRecoveryStatus"] == ("ENABLED" if wanted else "DISABLED")


def test_the_table_has_the_index_and_the_stream(deployed: DeployedQueue) -> None:
    table = deployed.client("dynamodb").describe_table(TableName=deployed.table)["Table"]
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == [INDEX]
    assert table["StreamSpecification"] == {
        "StreamEnabled": True,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
