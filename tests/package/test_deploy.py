"""The package on a local AWS: an app deploys it over this repository's stacks, and their data is retained."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from consumer import App

from delivery import assembly as assemblies
from delivery import deployed
from local import assembly, deployment, emulator
from local.agents import DeployedAgents
from local.crew import Crew
from local.emulator import Emulator
from local.queue import DeployedQueue
from local.waiting import wait_until
from project.paths import LOCAL_ASSEMBLY, NODE_BIN, PROJECT

pytestmark = pytest.mark.skipif(os.environ.get("DEPLOY") != "local", reason="needs DEPLOY=local")
TASKS, AGENTS = "LifoQueue-dev", "AgentQueue-dev"


@pytest.fixture(scope="module")
def local_aws(work: Path) -> Iterator[Emulator]:
    """A local AWS that enforces the templates' IAM policies."""
    # The certificate of this local AWS is trusted only while it runs.
    with mock.patch.dict(os.environ), emulator.start(work / "aws", enforced=True, schedules=False) as running:
        yield running


@pytest.fixture(scope="module")
def packaged(latest: App) -> Path:
    """The assembly of an app with the package and with functions for this machine."""
    out = latest.folder / "deploy.out"
    latest.run("node", "deploy.cjs", CDK_OUTDIR=str(out), FRESHQ_ARTIFACTS=str(PROJECT / "target" / "local"))
    return out


def possible_losses(aws: Emulator, out: Path, stack: str, into: Path) -> str:
    """The comparison of the deployed stack with an assembly, as `make diff-summary` prints it."""
    client = deployment.fake_session().client("cloudformation", endpoint_url=aws.endpoint)
    assert deployed.fetch(assemblies.stacks(out, stack), into / "base", lambda _: client) == [stack]
    (into / "head").mkdir()
    (into / "head" / f"{stack}.template.json").write_text((out / f"{stack}.template.json").read_text())
    command: list[str | Path] = [NODE_BIN / "tsx", "infra/diff/main.ts", "--base", into / "base", "--head", into / "head"]
    return subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout


def test_task_queue_keeps_its_tasks_when_its_stack_moves_to_the_package(
    local_aws: Emulator, packaged: Path, tmp_path: Path
) -> None:
    before = deployment.deploy(local_aws, assembly.read(LOCAL_ASSEMBLY, TASKS), DeployedQueue)
    [earlier] = before.create([{}])["created"]
    wait_until(lambda: before.status(earlier["taskId"]) == "SUCCESS", 60, "the task before the move")
    before.wait_until_idle()

    comparison = possible_losses(local_aws, packaged, TASKS, tmp_path)
    assert f"`{TASKS}`: " in comparison and "differences" in comparison
    assert "Data may be lost" not in comparison

    after = deployment.deploy(local_aws, assembly.read(packaged, TASKS), DeployedQueue)
    assert after.table == before.table
    assert after.status(earlier["taskId"]) == "SUCCESS"
    [later] = after.create([{}])["created"]
    wait_until(lambda: after.status(later["taskId"]) == "SUCCESS", 60, "the task after the move")


def test_agents_queue_keeps_its_agents_when_its_stack_moves_to_the_package(
    local_aws: Emulator, packaged: Path, tmp_path: Path
) -> None:
    before = deployment.deploy(local_aws, assembly.read(LOCAL_ASSEMBLY, AGENTS), DeployedAgents)
    [agent] = Crew(before).queued("Ana")

    assert "Data may be lost" not in possible_losses(local_aws, packaged, AGENTS, tmp_path)

    after = deployment.deploy(local_aws, assembly.read(packaged, AGENTS), DeployedAgents)
    assert after.table == before.table
    assert after.agents()[agent]["status"] == "queued"
