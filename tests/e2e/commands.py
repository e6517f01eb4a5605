"""Runs make and freshq, the operators' command."""

from __future__ import annotations

import os
import subprocess

from project.captured import captured
from project.paths import PROJECT

BUILD_SECONDS = 1200
VERB_SECONDS = 120
#: The verbs that don't require a queue.
WITHOUT_QUEUE = {"completions", "man"}


def make(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs make without a terminal, as a script does."""
    return captured(
        ["make", "--silent", "--no-print-directory", *arguments],
        cwd=PROJECT,
        env=environment or dict(os.environ),
        timeout=BUILD_SECONDS,
    )


def built_freshq() -> str:
    """Builds freshq with `make build-freshq`, which prints its path last, and returns the path."""
    built = make("build-freshq")
    assert built.returncode == 0, built.stderr
    return str(PROJECT / built.stdout.split()[-1])


def run(command: str, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a freshq verb without a terminal, on the dev queue unless the arguments name another queue."""
    line = [command, *arguments]
    if {"--env", "--stack"}.isdisjoint(arguments) and arguments[0] not in WITHOUT_QUEUE:
        line += ["--env", "dev"]
    return captured(line, env=environment, timeout=VERB_SECONDS)
