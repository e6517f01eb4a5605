"""`make smoke LOCAL=1` succeeds and removes its stacks even if it is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from project.paths import PROJECT, STATE

SECONDS = 900
#: An environment variable that only processes of the smoke test's local AWS have: the emulator's temporary folder.
OWN_AWS = f"TMPDIR={STATE / 'smoke' / 'tmp'}".encode()


# Skips the builds: `make` ran both before these tests, and another build would move binaries that other tests use.
SMOKE = ["make", "--silent", "--no-print-directory", "-o", "build-local", "-o", "build-freshq", "smoke", "LOCAL=1"]


def start_smoke() -> subprocess.Popen[str]:
    return subprocess.Popen(
        SMOKE,
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def left_processes() -> list[int]:
    """The processes of a smoke test's local AWS, which are the emulator and its functions."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and OWN_AWS in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            continue  # The process belongs to another user, or has ended.
    return found


def test_the_smoke_test_passes_on_the_local_aws() -> None:
    running = start_smoke()
    printed, _ = running.communicate(timeout=SECONDS)
    print(printed)
    assert running.returncode == 0, printed
    assert "FAILED" not in printed
    results = re.findall(r"^(ok|skipped) +[\d.]+ s  (.*?): ", printed, re.MULTILINE)
    assert len(results) >= 21
    # Only checks of resources that exist only on AWS are skipped.
    assert {name.split(":")[0] for state, name in results if state == "skipped"} == {
        "LifoQueue-dev-smoke",
        "AgentQueue-dev-smoke",
    }
    assert left_processes() == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the emulator's processes in /proc")
def test_an_interrupted_smoke_test_removes_its_stacks() -> None:
    running = start_smoke()
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("ok") and "deploy LifoQueue-dev-smoke" in line:
            break
    assert left_processes(), "the local AWS is not running"
    # Ctrl-C in a terminal also sends SIGINT to every process in the group.
    os.killpg(running.pid, signal.SIGINT)
    printed = running.stdout.read()
    running.wait(timeout=SECONDS)
    assert running.returncode != 0
    assert "interrupted" in printed
    assert re.search(r"^ok +[\d.]+ s  everything is removed: removed LifoQueue-dev-smoke", printed, re.MULTILINE), printed
    assert left_processes() == []
