"""The preflight finds each problem before the build. Each test causes one in the local AWS or the environment."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from delivery import configured, deploy, preflight
from delivery.assembly import Stack
from delivery.preflight import Finding
from local import emulator
from project.captured import captured
from project.paths import PROJECT
from tests.delivery.aws import Aws, never, queue, running, write_stack

VERSION = "/cdk-bootstrap/hnb659fds/version"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    with pytest.MonkeyPatch.context() as patch:
        # Sets the quota of an AWS account. By default, the emulator uses this machine's capacity.
        patch.setenv("LAMBDA_ACCOUNT_CONCURRENCY", "1000")
        with running(tmp_path_factory.mktemp("aws")) as started:
            yield started


@pytest.fixture(autouse=True)
def signed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the credentials, the region and the profile, as in a new shell."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)


def reserving(count: int) -> dict[str, Any]:
    return {"fn": {"Type": "AWS::Lambda::Function", "Properties": {"ReservedConcurrentExecutions": count}}}


def stack_in(folder: Path, name: str = "LifoQueue-dev", count: int = 1, **options: Any) -> Stack:
    bootstrap: dict[str, Any] = {"requiresBootstrapStackVersion": 6, "bootstrapStackVersionSsmParameter": VERSION}
    return write_stack(folder, name, {"q": queue(), **reserving(count)}, **options, **bootstrap)


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def bootstrapped(aws: Aws, version: int) -> None:
    aws.client("ssm").put_parameter(Name=VERSION, Value=str(version), Type="String", Overwrite=True)


class TestAccount:
    def test_missing_credentials_and_a_missing_region_are_found(self) -> None:
        found = by_check(preflight.of_account({}))
        assert found["region"].found == "none is set"
        assert "AWS_REGION" in (found["region"].remedy or "")
        assert "Unable to locate credentials" in found["credentials"].found
        assert "aws sso login" in (found["credentials"].remedy or "")

    def test_aws_region_takes_precedence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        assert by_check(preflight.of_account({}))["region"].found == "eu-central-1"
        assert preflight.client("sts", None).meta.region_name == "eu-central-1"

    def test_the_default_region_is_used_without_aws_region(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        assert by_check(preflight.of_account({}))["region"].found == "us-east-1"

    def test_a_missing_profile_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_PROFILE", "nowhere")
        finding = by_check(preflight.of_account({}))["profile"]
        assert "nowhere" in finding.found
        assert "AWS_PROFILE" in (finding.remedy or "")

    def test_expired_credentials_are_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Expired:
            def get_caller_identity(self) -> None:
                raise ClientError({"Error": {"Code": "ExpiredToken", "Message": "it has expired"}}, "GetCallerIdentity")

        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        finding = by_check(preflight.of_account({}, lambda service, region: Expired()))["credentials"]
        assert "it has expired" in finding.found
        assert finding.remedy is not None

    def test_an_endpoint_of_the_local_aws_is_found(self) -> None:
        [finding] = preflight.of_account({"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"})
        assert "LOCAL=1" in (finding.remedy or "")

    def test_findings_name_the_account_and_the_region(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        found = preflight.of_account({}, aws.client)
        assert [finding.remedy for finding in found] == [None, None]
        assert found[0].found == "us-east-1"
        assert found[1].found.startswith(f"account {emulator.ACCOUNT} as ")


class TestBuild:
    @pytest.mark.parametrize("name", ["FRESHQ_SKIP_BUILD", "FRESHQ_ARTIFACTS"])
    def test_a_variable_that_skips_the_build_is_found(self, name: str) -> None:
        finding = by_check(preflight.of_build({name: "1"}))["code"]
        assert finding.remedy == f"unset {name}"

    def test_a_compiler_without_the_target_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "rustc").write_text("#!/bin/sh\necho /nowhere\n")
        (tmp_path / "rustc").chmod(0o755)
        # The script can find Debian's compiler at its fixed path, but not the linker, which isn't in this PATH.
        for tool in ("bash", "env", "cat", "dirname"):
            (tmp_path / tool).symlink_to(shutil.which(tool) or "")
        monkeypatch.setenv("PATH", str(tmp_path))
        finding = by_check(preflight.of_build({}))["tools"]
        assert "rustup target add aarch64-unknown-linux-gnu" in (finding.remedy or "")


class TestBootstrap:
    def test_an_account_without_a_bootstrap_is_found(self, aws: Aws, tmp_path: Path) -> None:
        stack = stack_in(tmp_path, environment="aws://unknown-account/eu-central-1")
        finding = by_check(preflight.of_stack(stack, aws.client))["bootstrap"]
        assert finding.remedy == "make bootstrap REGION=eu-central-1"

    def test_an_outdated_bootstrap_is_found(self, aws: Aws, tmp_path: Path) -> None:
        bootstrapped(aws, 5)
        finding = by_check(preflight.of_stack(stack_in(tmp_path), aws.client))["bootstrap"]
        assert finding.found == "version 5 is deployed, and LifoQueue-dev needs 6"
        assert finding.remedy == "make bootstrap"

    def test_a_bootstrap_of_the_required_version_is_accepted(self, aws: Aws, tmp_path: Path) -> None:
        bootstrapped(aws, 6)
        assert by_check(preflight.of_stack(stack_in(tmp_path), aws.client))["bootstrap"].remedy is None

    def test_failed_bootstrap_must_be_deleted_first(self, aws: Aws) -> None:
        [none] = preflight.of_toolkit(None, aws.client)
        assert none.remedy is None
        assert aws.create(preflight.TOOLKIT, {"Resources": never(1)}) == "ROLLBACK_COMPLETE"
        [finding] = preflight.of_toolkit(None, aws.client)
        assert finding.remedy == "aws cloudformation delete-stack --stack-name CDKToolkit, then run this again"

    def test_make_bootstrap_needs_neither_the_app_nor_rust(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        aws.client("cloudformation").delete_stack(StackName=preflight.TOOLKIT)
        for name, value in emulator.local_environment(aws.endpoint).items():
            monkeypatch.setenv(name, value)
        # A command that reads cdk.json would run the app, which fails without built functions.
        monkeypatch.setenv("FRESHQ_ARTIFACTS", "/nowhere")
        monkeypatch.setattr(deploy.account, "identify", lambda: f"{emulator.ACCOUNT}/{emulator.REGION}")
        # Unlike delete_parameter, it accepts a parameter that no earlier test has written.
        aws.client("ssm").delete_parameters(Names=[VERSION])
        deploy.bootstrap()
        assert int(aws.client("ssm").get_parameter(Name=VERSION)["Parameter"]["Value"]) >= 6


class TestStack:
    def test_a_stack_of_another_account_is_found(self, aws: Aws, tmp_path: Path) -> None:
        stack = stack_in(tmp_path, environment="aws://123456789012/us-east-1")
        finding = by_check(preflight.of_stack(stack, aws.client))["account"]
        assert finding.found == f"LifoQueue-dev belongs to 123456789012, and you are signed in to {emulator.ACCOUNT}"
        assert finding.remedy is not None

    def test_a_busy_stack_is_found(self, aws: Aws, tmp_path: Path) -> None:
        body = json.dumps({"Resources": never(600)})
        aws.client("cloudformation").create_stack(StackName="LifoQueue-busy", TemplateBody=body)
        finding = by_check(preflight.of_stack(stack_in(tmp_path, "LifoQueue-busy"), aws.client))["stack"]
        assert finding.found == "LifoQueue-busy is CREATE_IN_PROGRESS"
        assert finding.remedy is not None

    def test_a_failed_creation_is_accepted_because_the_deployment_deletes_it(self, aws: Aws, tmp_path: Path) -> None:
        assert aws.create("LifoQueue-failed", {"Resources": never(1)}, protected=True) == "ROLLBACK_COMPLETE"
        finding = by_check(preflight.of_stack(stack_in(tmp_path, "LifoQueue-failed"), aws.client))["stack"]
        assert finding.remedy is None
        assert "make deploy deletes the failed stack" in finding.found

    def test_a_check_without_read_permission_is_skipped(self, aws: Aws, tmp_path: Path) -> None:
        class Denied:
            def get_account_settings(self) -> None:
                error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
                raise ClientError(error, "GetAccountSettings")

        def client_of(service: str, region: str | None) -> Any:
            return Denied() if service == "lambda" else aws.client(service, region)

        finding = by_check(preflight.of_stack(stack_in(tmp_path), client_of))["concurrency"]
        assert (finding.looked, finding.remedy) == (False, None)
        assert str(finding).startswith("  not checked")


class Lambda:
    """A Lambda client that returns only the account limits."""

    def __init__(self, quota: int, unreserved: int) -> None:
        self.limit = {"ConcurrentExecutions": quota, "UnreservedConcurrentExecutions": unreserved}

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": self.limit}


class TestConcurrency:
    def test_concurrency_reserved_by_other_functions_is_not_available(self, aws: Aws, tmp_path: Path) -> None:
        role = "arn:aws:iam::000000000000:role/r"
        functions = aws.client("lambda")
        functions.create_function(
            FunctionName="other", Role=role, Runtime="provided.al2023", Handler="bootstrap", Code={"ZipFile": b"PK\x05\x06" + bytes(18)}
        )
        functions.put_function_concurrency(FunctionName="other", ReservedConcurrentExecutions=899)
        assert by_check(preflight.of_stack(stack_in(tmp_path), aws.client))["concurrency"].remedy is None
        finding = by_check(preflight.of_stack(stack_in(tmp_path, count=2), aws.client))["concurrency"]
        assert finding.found == (
            "LifoQueue-dev reserves 2 more of Lambda's concurrency, and 1 can be reserved"
            " (quota 1000, 101 unreserved, of which Lambda keeps 100)"
        )
        assert "--quota-code L-B99A9384 --desired-value 1001" in (finding.remedy or "")
        functions.delete_function(FunctionName="other")

    @pytest.mark.parametrize(("quota", "unreserved", "ready"), [(10, 10, False), (100, 100, False), (101, 101, True)])
    def test_a_small_quota_leaves_no_concurrency_to_reserve(
        self, aws: Aws, tmp_path: Path, quota: int, unreserved: int, ready: bool
    ) -> None:
        def client_of(service: str, region: str | None) -> Any:
            return Lambda(quota, unreserved) if service == "lambda" else aws.client(service, region)

        finding = by_check(preflight.of_stack(stack_in(tmp_path), client_of))["concurrency"]
        assert (finding.remedy is None) is ready

    def test_concurrency_reserved_by_the_stack_is_not_counted_again(self, aws: Aws, tmp_path: Path) -> None:
        deployed = {"Resources": {"q": queue()}, "Metadata": {}}
        assert aws.create("LifoQueue-there", deployed) == "CREATE_COMPLETE"

        class CloudFormation:
            def describe_stacks(self, StackName: str) -> Any:  # noqa: N803
                return aws.client("cloudformation").describe_stacks(StackName=StackName)

            def get_template(self, **_: str) -> dict[str, Any]:
                return {"TemplateBody": json.dumps({"Resources": reserving(5)})}

        stack = stack_in(tmp_path, "LifoQueue-there", count=6)
        finding = preflight._concurrency(stack, Lambda(1000, 101), CloudFormation())
        assert finding.found.startswith("LifoQueue-there reserves 1 more")
        assert finding.remedy is None


class TestReport:
    def test_every_finding_is_printed_before_the_error(self) -> None:
        said: list[str] = []
        findings = [Finding("a", "fine"), Finding("b", "broken", "repair it"), Finding("c", "gone", "find it")]
        with pytest.raises(preflight.NotReady, match="not ready: b, c"):
            preflight.report(findings, said.append)
        assert said == [
            "  ok           a: fine",
            "  FAILED       b: broken. Remedy: repair it",
            "  FAILED       c: gone. Remedy: find it",
        ]

    def test_make_bootstrap_reports_missing_credentials(self) -> None:
        finished = captured(["make", "bootstrap"], cwd=PROJECT, env=dict(os.environ))
        assert finished.returncode != 0
        assert "FAILED       region: none is set" in finished.stdout
        assert "FAILED       credentials: Unable to locate credentials" in finished.stdout
        assert "not ready: region, credentials" in finished.stderr
        assert "cargo" not in finished.stdout + finished.stderr


def test_a_template_without_code_has_the_reserved_concurrency_of_the_stack(tmp_path: Path) -> None:
    preflight.synthesize("dev", "alice", tmp_path / "assembly")
    stack = Stack(tmp_path / "assembly", "LifoQueue-dev-alice", None)
    assert list(preflight.reserved(stack.template()).values()) == [2]
    assert stack.bootstrap() == (VERSION, 6)
    assert stack.account is None


def test_prod_stacks_lack_a_runner_url_and_recipients_until_configured(aws: Aws, tmp_path: Path) -> None:
    preflight.synthesize("prod", None, tmp_path / "assembly")
    tasks, agents = (Stack(tmp_path / "assembly", f"{kind}-prod", None) for kind in ("LifoQueue", "AgentQueue"))
    runner, silent = configured.gaps(tasks)
    assert "https://tasks.invalid/run" in runner.found and "`runner`" in runner.remedy
    assert "alarms have no recipient" in silent.found and "`alarmEmails`" in silent.remedy
    assert [gap.remedy for gap in configured.gaps(agents)] == [silent.remedy]
    for stack, count in ((tasks, 2), (agents, 1)):
        found = [finding for finding in preflight.of_stack(stack, aws.client) if finding.check == "configuration"]
        assert len(found) == count and all(finding.remedy for finding in found)


def test_unprotected_stack_needs_no_recipient(tmp_path: Path) -> None:
    properties: dict[str, Any] = {"Threshold": 0}
    alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
    assert configured.gaps(write_stack(tmp_path / "dev", "LifoQueue-dev", {"a": alarm})) == []
    [gap] = configured.gaps(write_stack(tmp_path / "prod", "LifoQueue-prod", {"a": alarm}, terminationProtection=True))
    assert gap.found == "1 alarms have no recipient"
    properties["AlarmActions"] = [{"Ref": "topic"}]
    assert configured.gaps(write_stack(tmp_path / "told", "LifoQueue-prod", {"a": alarm}, terminationProtection=True)) == []


def test_error_for_rejected_settings_contains_the_reason(tmp_path: Path) -> None:
    with pytest.raises(preflight.NotReady, match="nowhere"):
        preflight.synthesize("nowhere", None, tmp_path / "assembly")
