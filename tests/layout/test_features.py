"""A build of only the functions and a build of the workspace use the same features, so each crate compiles once."""

from __future__ import annotations

import re
import subprocess

from project.paths import PROJECT

# Crates for freshq's credentials and terminal, and for the tests' virtual clock. The functions don't use these crates.
DIFFERENT = {"aws-config", "rustix", "simulator"}
_LINE = re.compile(r"(\S+) (v\S+)(?: \([^)]*\))*\|(\S*)")


def features(*selection: str) -> dict[tuple[str, str], str]:
    """The features of each crate and version, as `cargo build` with this selection compiles it."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--edges", "no-dev", "--format", "{p}|{f}", *selection]
    lines = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout.splitlines()
    matches = [_LINE.match(line) for line in lines]
    return {(match[1], match[2]): match[3] for match in matches if match}


def test_builds_of_the_functions_and_of_the_workspace_share_their_crates() -> None:
    functions, workspace = features(), features("--workspace")

    assert len(functions) > 100
    differ = {crate for crate, of_functions in functions.items() if workspace[crate] != of_functions}
    assert {name for name, _ in differ} == DIFFERENT


def test_a_runner_outside_of_the_repository_does_not_compile_the_agents_queue() -> None:
    names = {name for name, _ in features("--package", "freshq-runner")}

    assert {"functions", "lifo-queue"} <= names
    assert "agent-queue" not in names
