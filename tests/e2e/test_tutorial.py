"""Runs the commands of the local AWS tutorial."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from expectations import wait_for
from test_operate import Run, freshq

from local.emulator import Emulator, local_environment
from local.queue import DeployedQueue
from local.up_down import shell_variables
from project.captured import captured
from project.paths import PROJECT

__all__ = ["freshq"]  # a fixture

DOCUMENT = PROJECT / "docs" / "tutorial" / "local.md"


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def checkout(local_aws: Emulator, queue: DeployedQueue, tmp_path: Path) -> Path:
    """A folder with the files that `make setup` and `make local-up` create in a checkout."""
    for name in (".venv", "tests"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / ".local").mkdir()
    variables = shell_variables(local_aws, [queue])
    lines = (f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    (tmp_path / ".local" / "env").write_text("".join(lines))
    return tmp_path


def test_a_task_is_created_and_runs(local_aws: Emulator, queue: DeployedQueue, checkout: Path) -> None:
    (block,) = (each for each in blocks() if "boto3" in each)
    done = captured(["bash", "-euc", block], cwd=checkout, env=local_environment(local_aws.endpoint), timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"order-4711"' in done.stdout
    wait_for(queue, ["order-4711"])


def test_status_pause_and_resume_work_as_documented(freshq: Run) -> None:
    lines = [line for block in blocks() for line in block.splitlines() if line.startswith("freshq ")]
    assert [shlex.split(line)[1] for line in lines] == ["status", "pause", "resume"]
    for line in lines:
        ended = freshq(*shlex.split(line)[1:])
        assert ended.returncode == 0, (line, ended.stderr)
