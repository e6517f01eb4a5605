"""The functions alone and the whole workspace need each crate with the same features, so that it is compiled once."""

from __future__ import annotations

import re
import subprocess

from local.paths import PROJECT

# What freshq signs in with, its terminal, and the virtual clock of the tests. No crate of the functions stands above them.
DIFFERENT = {"aws-config", "rustix", "simulator"}
_LINE = re.compile(r"(\S+) (v\S+)(?: \([^)]*\))*\|(\S*)")


def features(*selection: str) -> dict[tuple[str, str], str]:
    """The features of each crate and version, as `cargo build` with this selection compiles it."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--edges", "no-dev", "--format", "{p}|{f}", *selection]
    lines = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout.splitlines()
    matches = [_LINE.match(line) for line in lines]
    return {(match[1], match[2]): match[3] for match in matches if match}


def test_a_build_of_the_functions_and_one_of_the_workspace_share_their_crates() -> None:
    functions, workspace = features(), features("--workspace")

    assert len(functions) > 100
    differ = {crate for crate, of_functions in functions.items() if workspace[crate] != of_functions}
    assert {name for name, _ in differ} == DIFFERENT
