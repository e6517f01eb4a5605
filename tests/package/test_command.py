"""`npx freshq` starts the platform's command, and passes on arguments, signals and the exit code as a shell does."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from consumer import SECONDS, App

from project.paths import PROJECT

LAUNCHER = "node_modules/freshq/bin/freshq.js"
stub_only = pytest.mark.skipif("FRESHQ_TARBALL" in os.environ, reason="needs the stub of the binary")


@pytest.mark.skipif("FRESHQ_TARBALL" not in os.environ, reason="needs the binary")
def test_command_of_the_release_starts(latest: App) -> None:
    version = json.loads((PROJECT / "package.json").read_text())["version"]
    assert latest.run("node_modules/.bin/freshq", "--version") == f"freshq {version}\n"


@stub_only
def test_command_gets_its_arguments(latest: App) -> None:
    assert latest.run("node_modules/.bin/freshq", "arguments", "a b", "", "--c=d") == "<a b>\n<>\n<--c=d>\n"


@stub_only
@pytest.mark.parametrize("code", [0, 1, 4, 255])
def test_launcher_returns_the_exit_code_of_the_command(latest: App, code: int) -> None:
    assert latest.attempt("node", LAUNCHER, "exit", str(code)).returncode == code


@stub_only
@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "KILL"])
def test_launcher_ends_with_the_signal_that_ended_the_command(latest: App, name: str) -> None:
    assert latest.attempt("node", LAUNCHER, "kill", name).returncode == -getattr(signal, f"SIG{name}")


@stub_only
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 7), (signal.SIGINT, 8)], ids=["TERM", "INT"])
def test_signals_reach_the_command_which_decides_the_exit_code(latest: App, number: int, code: int) -> None:
    with subprocess.Popen(
        ["node", LAUNCHER, "wait"], cwd=latest.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "ready\n"
        launcher.send_signal(number)
        output, _ = launcher.communicate(timeout=SECONDS)
    assert (output, launcher.returncode) == (f"ended by {signal.Signals(number).name}\n", code)


def test_package_installs_without_a_command_and_the_launcher_names_the_missing_package(floor: App) -> None:
    finished = floor.attempt("node", LAUNCHER, "status")
    assert finished.returncode == 127
    assert "freshq: the package @freshq/cli-linux-" in finished.stderr
    assert "is missing. Remedy: install freshq again" in finished.stderr
    assert "needs glibc 2.28 or later" in finished.stderr
    assert "run `make install-cli` in the clone" in finished.stderr


@pytest.mark.parametrize(
    ("platform", "remedy"),
    [("win32", "run it in the Windows Subsystem for Linux"), ("freebsd", "run it on one of these")],
)
def test_error_names_the_unsupported_and_the_supported_platforms(latest: App, platform: str, remedy: str) -> None:
    elsewhere = f"Object.defineProperty(process, 'platform', {{ value: '{platform}' }}); require('./{LAUNCHER}')"
    finished = latest.attempt("node", "--eval", elsewhere)
    assert finished.returncode == 127
    assert f"freshq: the command has no version for {platform}-" in finished.stderr
    assert "It supports darwin-arm64, darwin-x64, linux-arm64, linux-x64." in finished.stderr
    assert f"Remedy: {remedy}." in finished.stderr
