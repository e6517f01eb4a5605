"""The deployed agents' queue is as in the template."""

from __future__ import annotations

from local.agents import DeployedAgents
from local.assembly import Assembly
from local.contract import AGENT_OPTIONAL_OUTPUTS, AGENT_OUTPUTS, AGENT_PK, AGENT_SK


def test_the_outputs_are_those_of_the_contract(agents: DeployedAgents) -> None:
    assert set(agents.outputs) == {*AGENT_OUTPUTS, *AGENT_OPTIONAL_OUTPUTS["dashboard"]}
    assert all(agents.outputs.values())


def test_the_table_has_the_keys_and_nothing_else(
    agents: DeployedAgents, agents_template: Assembly
) -> None:
    table = agents.client("dynamodb").describe_table(TableName=agents.table)["Table"]
    assert {key["KeyType"]: key["AttributeName"] for key in table["KeySchema"]} == {
        "HASH": AGENT_PK,
        "RANGE": AGENT_SK,
    }
    assert not table.get("GlobalSecondaryIndexes")
    assert not table.get("StreamSpecification", {}).get("StreamEnabled")
    (declared,) = agents_template.resources("AWS::DynamoDB::Table")
    assert table["BillingModeSummary"]["BillingMode"] == declared.properties["BillingMode"]


def test_the_intake_is_a_fifo_queue_with_a_dead_letter_queue_and_feeds_match_calls(
    agents: DeployedAgents,
) -> None:
    sqs = agents.client("sqs")

    def attributes(output: str) -> dict[str, str]:
        response = sqs.get_queue_attributes(QueueUrl=agents.outputs[output], AttributeNames=["All"])
        found: dict[str, str] = response["Attributes"]
        return found

    intake, dead = attributes("CallQueueUrl"), attributes("CallDeadLetterQueueUrl")
    assert intake["FifoQueue"] == dead["FifoQueue"] == "true"
    assert intake.get("ContentBasedDeduplication", "false") == "false"
    assert dead["QueueArn"] in intake["RedrivePolicy"]
    functions = agents.client("lambda")
    (mapping,) = functions.list_event_source_mappings(
        FunctionName=agents.function("match-calls")
    )["EventSourceMappings"]
    assert mapping["EventSourceArn"] == intake["QueueArn"]
    assert mapping["BatchSize"] == 10
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    timeout = functions.get_function_configuration(FunctionName=agents.function("match-calls"))[
        "Timeout"
    ]
    assert int(intake["VisibilityTimeout"]) >= 6 * timeout
