"""The error for a stack that can't be deployed contains the remedy. A failed creation is deleted after confirmation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from delivery import deploy, wedged
from delivery.deploy import Request
from delivery.wedged import Wedged
from local import emulator
from tests.delivery.aws import Aws, never, queue, running, write_stack


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    with running(tmp_path_factory.mktemp("aws")) as started:
        yield started


def fail(aws: Aws, name: str) -> None:
    """Leaves the stack in the state after a failed first deployment, with termination protection."""
    resources = {"kept": queue() | {"DeletionPolicy": "Retain"}, **never(1)}
    resources["awaited"]["DependsOn"] = "kept"
    assert aws.create(name, {"Resources": resources}, protected=True) == "ROLLBACK_COMPLETE"


def make_way(aws: Aws, name: str, answer: bool) -> tuple[bool, list[str], list[str]]:
    said: list[str] = []
    asked: list[str] = []

    def agreed(question: str) -> bool:
        asked.append(question)
        return answer

    return wedged.make_way(aws.client("cloudformation"), name, agreed, said.append), said, asked


class TestMakingWay:
    def test_failed_creation_is_deleted_despite_termination_protection(self, aws: Aws) -> None:
        fail(aws, "Failed")
        client = aws.client("cloudformation")
        with pytest.raises(ClientError, match="TerminationProtection is enabled"):
            client.delete_stack(StackName="Failed")
        way, said, asked = make_way(aws, "Failed", True)
        assert way is True
        assert asked == ["Failed can only be deleted and created again. Delete it?"]
        assert said[0].startswith("Failed: an earlier creation failed (ROLLBACK_COMPLETE): awaited: ")
        assert any("deleting the stack keeps AWS::SQS::Queue" in line for line in said)
        assert wedged.state(client, "Failed") is None

    def test_nothing_is_deleted_without_confirmation(self, aws: Aws) -> None:
        fail(aws, "Kept")
        way, _, _ = make_way(aws, "Kept", False)
        assert way is False
        assert aws.status("Kept") == "ROLLBACK_COMPLETE"

    def test_a_deployed_or_missing_stack_needs_no_confirmation(self, aws: Aws) -> None:
        assert aws.create("Fine", {"Resources": {"q": queue()}}) == "CREATE_COMPLETE"
        assert make_way(aws, "Fine", False) == (True, [], [])
        assert make_way(aws, "Nowhere", False) == (True, [], [])

    def test_a_stack_with_a_running_operation_is_rejected(self, aws: Aws) -> None:
        aws.client("cloudformation").create_stack(StackName="Busy", TemplateBody=json.dumps({"Resources": never(600)}))
        with pytest.raises(Wedged, match="Busy is CREATE_IN_PROGRESS. Remedy: wait until"):
            make_way(aws, "Busy", True)

    def test_error_for_missing_permissions_names_the_commands(self) -> None:
        class Denied:
            def describe_stacks(self, StackName: str) -> None:  # noqa: N803
                error = {"Error": {"Code": "AccessDenied", "Message": "not authorized"}}
                raise ClientError(error, "DescribeStacks")

        with pytest.raises(Wedged, match="not authorized.*--no-enable-termination-protection --stack-name S && "):
            wedged.make_way(Denied(), "S", lambda _: True, print)


def test_a_deployment_succeeds_after_a_failed_first_one(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in emulator.local_environment(aws.endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CDK_DISABLE_VERSION_CHECK", "1")
    bad = write_stack(tmp_path / "bad", "LifoQueue-x", {"q": queue(), **never(1)}, terminationProtection=True)
    good = write_stack(tmp_path / "good", "LifoQueue-x", {"q": queue()}, terminationProtection=True)
    with pytest.raises(deploy.Failed, match="cdk deploy ended with code 1"):
        deploy.run(Request(bad, "dev", yes=True, local=True))
    assert aws.settled("LifoQueue-x") == "ROLLBACK_COMPLETE"
    assert deploy.run(Request(good, "dev", yes=True, local=True)) is True
    found = wedged.state(aws.client("cloudformation"), "LifoQueue-x")
    assert found is not None
    assert (found["StackStatus"], found["EnableTerminationProtection"]) == ("CREATE_COMPLETE", True)
    assert "LifoQueue-x: deleted the failed stack" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name S"),
        ("UPDATE_FAILED", "rollback-stack --stack-name S"),
        ("DELETE_FAILED", "--retain-resources"),
        ("IMPORT_ROLLBACK_FAILED", "describe-stack-events --stack-name S"),
        ("UPDATE_IN_PROGRESS", "wait until"),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "wait until"),
    ],
)
def test_every_state_that_accepts_no_deployment_has_its_remedy(status: str, remedy: str) -> None:
    stands = wedged.problem("S", status)
    assert stands is not None
    assert stands[0] == f"S is {status}"
    assert remedy in stands[1]


@pytest.mark.parametrize(
    "status", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE", "REVIEW_IN_PROGRESS"]
)
def test_any_other_state_accepts_a_deployment(status: str) -> None:
    assert wedged.problem("S", status) is None
