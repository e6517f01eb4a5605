"""Runs the commands and programs of the agents' queue tutorial, and compares their output with the printed output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import assembly, deployment, emulator
from local.agents import DeployedAgents
from local.emulator import local_environment
from local.waiting import wait_until
from project.captured import captured
from project.paths import LOCAL_ASSEMBLY, PROJECT, STATE

DOCUMENT = (PROJECT / "docs" / "tutorial" / "agents.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>sh|text|python (?P<name>\w+))\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def agents() -> Iterator[DeployedAgents]:
    """A separate queue, because the tutorial prints all agents."""
    with emulator.start(STATE / "agents-tutorial", schedules=False) as running:
        yield deployment.deploy(running, assembly.read(LOCAL_ASSEMBLY, "AgentQueue-dev"), DeployedAgents)


class Subscriber:
    """The tutorial's program `subscriber.py` as a process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._output = folder / "subscriber.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, environment: dict[str, str]) -> None:
        """Starts the program and waits until it has subscribed."""
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, "subscriber.py"], cwd=self._folder, env=environment, stdout=output
            )
        self.wait_for("subscribed")

    def wait_for(self, line: str) -> None:
        wait_until(lambda: line in self._output.read_text().splitlines(), 30, f"the line {line!r} of the subscriber")

    def stop(self) -> None:
        """Stops the program if it was started."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def subscriber(tmp_path: Path) -> Iterator[Subscriber]:
    started = Subscriber(tmp_path)
    yield started
    started.stop()


def test_the_tutorial_runs_as_printed(
    agents: DeployedAgents, command: str, subscriber: Subscriber, tmp_path: Path
) -> None:
    environment = local_environment(agents.local_endpoint) | agents.outputs | {"FRESHQ_ENV": "dev"}
    environment["PATH"] = f"{Path(command).parent}:{os.environ['PATH']}"
    (tmp_path / ".venv").symlink_to(PROJECT / ".venv")
    printed, compared = "", 0
    for block in BLOCK.finditer(DOCUMENT):
        text = block["text"]
        if block["name"]:
            (tmp_path / f"{block['name']}.py").write_text(text)
        elif block["kind"] == "text":
            expected = re.escape(" ".join(text.split())).replace("…", ".+")
            assert re.search(f"{expected}$", " ".join(printed.split())), printed
            compared += 1
        elif "subscriber.py" in text:
            subscriber.start(environment)
        elif "make " not in text:
            ran = captured(["bash", "-euo", "pipefail", "-c", text], cwd=tmp_path, env=environment, timeout=60)
            assert ran.returncode == 0, (text, ran.stdout, ran.stderr)
            printed = ran.stdout
    assert compared == 4
    subscriber.wait_for(f"connect {printed.split()[-1]} to Ana Ruiz")
