"""The prompts, rejections and commands of `make deploy`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from delivery import checkout, deploy, preflight, rollback, wedged
from delivery.__main__ import main
from delivery.assembly import Stack
from delivery.deploy import Request
from delivery.rollback import Watch
from project.paths import PROJECT
from tests.delivery.aws import write_stack

#: The actual check, which the `ran` fixture replaces.
REJECT_GAPS = checkout.reject_gaps
OUTPUTS = {"AgentDeskFunctionName": "desk-1", "QueueTableName": "tasks-1"}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The CDK CLI commands that would have run."""
    commands: list[list[str]] = []

    def run(arguments: list[str]) -> None:
        commands.append(arguments)
        if "--outputs-file" in arguments:
            path = Path(arguments[arguments.index("--outputs-file") + 1])
            path.write_text(json.dumps({arguments[1]: OUTPUTS}))

    monkeypatch.setattr(deploy, "_cdk", run)
    monkeypatch.setattr(deploy.account, "identify", lambda: "123456789012/eu-west-1")
    monkeypatch.setattr(wedged, "make_way", lambda client, name, agreed, say: True)
    monkeypatch.setattr(deploy, "_client", lambda service, region: None)
    monkeypatch.setattr(rollback, "watch", lambda stack, clients: Watch(["arn:a"], 5, ["b is in ALARM already"]))
    monkeypatch.setattr(checkout, "reject_uncommitted", lambda project: None)
    monkeypatch.setattr(checkout, "reject_gaps", lambda stack: None)
    monkeypatch.setattr(checkout, "reject_unbuilt", lambda stack: None)
    monkeypatch.setattr(checkout, "reject_placeholders", lambda stack: None)
    return commands


def request(name: str = "LifoQueue-dev", environment: str = "dev", **changes: Any) -> Request:
    given = {"yes": False, "local": False} | changes
    return Request(Stack(Path("cdk.out"), name, None), environment, **given)


def never(question: str) -> str:
    raise AssertionError(f"asked: {question}")


class TestDeploying:
    def test_changes_are_shown_before_the_prompt(self, ran: list[list[str]]) -> None:
        asked: list[str] = []

        def no(question: str) -> str:
            asked.append(question)
            assert [command[0] for command in ran] == ["diff"]
            return "n"

        assert deploy.run(request(), ask=no, say=lambda _: None) is False
        assert asked == ["Deploy LifoQueue-dev? [y/N] "]
        assert [command[0] for command in ran] == ["diff"]

    @pytest.mark.parametrize("answer", ["", "n", "no", "yess", "ja"])
    def test_any_answer_except_yes_deploys_nothing(self, ran: list[list[str]], answer: str) -> None:
        assert deploy.run(request(), ask=lambda _: answer, say=lambda _: None) is False

    @pytest.mark.parametrize("answer", ["y", "Y", " yes "])
    def test_yes_deploys_with_watched_alarms_and_prints_the_next_command(
        self, ran: list[list[str]], answer: str
    ) -> None:
        said: list[str] = []
        assert deploy.run(request(), ask=lambda _: answer, say=said.append) is True
        command = ran[-1]
        assert command[:3] == ["deploy", "LifoQueue-dev", "--exclusively"]
        watch = command.index("--rollback-trigger-alarm-arns")
        assert command[watch:] == [
            "--rollback-trigger-alarm-arns",
            "arn:a",
            "--monitoring-time-minutes",
            "5",
        ]
        assert said == [
            "LifoQueue-dev goes to 123456789012/eu-west-1",
            "LifoQueue-dev: b is in ALARM already",
            "next: freshq status --env dev",
        ]

    def test_yes_1_skips_the_confirmation(self, ran: list[list[str]]) -> None:
        assert deploy.run(request(yes=True), ask=never, say=lambda _: None) is True

    def test_without_a_terminal_nothing_is_deployed(self, ran: list[list[str]]) -> None:
        def no_answer(_: str) -> str:
            raise EOFError

        with pytest.raises(deploy.Failed, match="YES=1"):
            deploy.run(request(), ask=no_answer, say=lambda _: None)
        assert [command[0] for command in ran] == ["diff"]

    @pytest.mark.parametrize(
        ("stack", "command"),
        [
            ("LifoQueue-staging", "freshq status --env staging"),
            ("LifoQueue-dev-alice-b", "freshq status --env dev-alice-b"),
        ],
    )
    def test_the_next_command_is_for_the_deployed_stack(self, stack: str, command: str) -> None:
        assert deploy.next_command(stack, OUTPUTS) == command

    def test_the_next_command_for_the_agents_queue_lists_its_queues(self) -> None:
        assert "--function-name desk-1 " in deploy.next_command("AgentQueue-dev", OUTPUTS)

    def test_failed_cdk_command_raises_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deploy, "CDK", Path("/bin/false"))
        with pytest.raises(deploy.Failed, match="cdk diff ended with code 1"):
            deploy._cdk(["diff"])


class TestRejections:
    def test_prod_is_not_deployed_from_an_uncommitted_tree(
        self, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def reject(project: Path) -> None:
            raise checkout.NotDeployable("dirty")

        monkeypatch.setattr(checkout, "reject_uncommitted", reject)
        assert deploy.run(request(yes=True), say=lambda _: None) is True
        ran.clear()
        with pytest.raises(checkout.NotDeployable):
            deploy.run(request("LifoQueue-prod", "prod", yes=True), say=lambda _: None)
        assert ran == []

    def test_the_preflight_of_prod_rejects_an_uncommitted_tree(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def reject(project: Path) -> None:
            raise checkout.NotDeployable("dirty")

        monkeypatch.setattr(checkout, "reject_uncommitted", reject)
        monkeypatch.setattr(preflight, "of_account", list)
        monkeypatch.setattr(preflight, "of_build", list)
        assert main(["preflight", "--environment", "dev"]) == 0
        assert main(["preflight", "--environment", "prod"]) == 1
        assert capsys.readouterr().err == "dirty\n"

    def test_an_unconfigured_stack_is_deployed_only_to_the_local_aws(
        self, ran: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checkout, "reject_gaps", REJECT_GAPS)
        alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": {}}
        stack = write_stack(tmp_path, "LifoQueue-staging", {"a": alarm}, terminationProtection=True)
        with pytest.raises(checkout.NotDeployable, match="alarms have no recipient. Remedy: set `alarmEmails`"):
            deploy.run(Request(stack, "staging", yes=True, local=False), say=lambda _: None)
        assert ran == []
        assert deploy.run(Request(stack, "staging", yes=True, local=True), say=lambda _: None) is True

    def test_a_stack_that_accepts_no_deployment_is_rejected_before_the_changes_are_shown(
        self, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said: list[str] = []
        monkeypatch.setattr(wedged, "make_way", lambda client, name, agreed, say: agreed("Delete it?"))
        assert deploy.run(request(), ask=lambda question: "n", say=said.append) is False
        assert ran == []
        assert said[-1] == "nothing was deployed"

    def test_placeholders_are_not_deployed_even_to_the_local_aws(self, tmp_path: Path) -> None:
        placeholder = (PROJECT / "infra" / "shared" / "placeholder" / "bootstrap").read_bytes()
        stack = assembly_with(tmp_path, placeholder)
        for local in (True, False):
            with pytest.raises(checkout.NotDeployable, match="contains placeholders instead of code"):
                deploy.run(Request(stack, "dev", yes=True, local=local))

    def test_unbuilt_code_is_deployed_only_to_the_local_aws(
        self, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def reject(stack: Stack) -> None:
            raise checkout.NotDeployable("not built")

        monkeypatch.setattr(checkout, "reject_unbuilt", reject)
        with pytest.raises(checkout.NotDeployable):
            deploy.run(request(yes=True), say=lambda _: None)
        assert ran == []
        assert deploy.run(request(yes=True, local=True), say=lambda _: None) is True


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


class TestTree:
    def test_only_a_committed_tree_is_accepted(self, tmp_path: Path) -> None:
        with pytest.raises(checkout.NotDeployable, match="prod is deployed from a commit, and git says"):
            checkout.reject_uncommitted(tmp_path)
        git(tmp_path, "init")
        (tmp_path / "a.txt").write_text("1")
        git(tmp_path, "add", "a.txt")
        git(tmp_path, "commit", "-m", "one")
        checkout.reject_uncommitted(tmp_path)
        (tmp_path / "a.txt").write_text("2")
        with pytest.raises(checkout.NotDeployable, match="M a.txt"):
            checkout.reject_uncommitted(tmp_path)
        git(tmp_path, "checkout", "a.txt")
        (tmp_path / "new.txt").write_text("1")
        with pytest.raises(checkout.NotDeployable, match=r"\?\? new.txt"):
            checkout.reject_uncommitted(tmp_path)

    @pytest.mark.parametrize(
        "content",
        [(PROJECT / "infra" / "shared" / "placeholder" / "bootstrap").read_bytes(), None],
        ids=["the placeholder", "nothing"],
    )
    def test_code_that_lambda_cannot_start_is_rejected(
        self, tmp_path: Path, content: bytes | None
    ) -> None:
        stack = assembly_with(tmp_path, content)
        with pytest.raises(checkout.NotDeployable, match="LifoQueue-dev carries code that Lambda cannot start"):
            checkout.reject_unbuilt(stack)

    @pytest.mark.skipif(sys.platform != "linux", reason="this machine's programs are not ELF files")
    def test_code_for_another_machine_is_rejected(self, tmp_path: Path) -> None:
        program = bytearray(Path(sys.executable).resolve().read_bytes())
        # Set the machine in the ELF header to 62, which is x86-64.
        program[18:20] = (62).to_bytes(2, "little")
        stack = assembly_with(tmp_path, bytes(program))
        with pytest.raises(checkout.NotDeployable, match="the functions are arm64"):
            checkout.reject_unbuilt(stack)


def assembly_with(folder: Path, bootstrap: bytes | None) -> Stack:
    (folder / "asset.1").mkdir()
    if bootstrap is not None:
        (folder / "asset.1" / "bootstrap").write_bytes(bootstrap)
    template = {
        "Resources": {
            "f": {"Type": "AWS::Lambda::Function", "Properties": {"Code": {"S3Key": "1.zip"}}},
            "t": {"Type": "AWS::SNS::Topic"},
        }
    }
    (folder / "LifoQueue-dev.template.json").write_text(json.dumps(template))
    assets = {"files": {"1": {"source": {"path": "asset.1"}}}}
    (folder / "LifoQueue-dev.assets.json").write_text(json.dumps(assets))
    return Stack(folder, "LifoQueue-dev", None)
