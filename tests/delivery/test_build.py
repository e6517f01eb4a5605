"""The build selects the compiler and replaces this machine's folder names in the binaries with fixed names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from project.captured import captured
from project.paths import PROJECT

SCRIPT = PROJECT / "delivery" / "build-arm64.sh"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A compiler with the target, and a `cargo` stub that only records its arguments and environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    write(folder / "rustc", f'echo "{tmp_path}"')
    note = (
        "import json, os, sys; "
        "json.dump([sys.argv[1:], dict(os.environ)], open(os.environ['NOTED'], 'w'))"
    )
    write(folder / "cargo", f"exec '{sys.executable}' -c \"{note}\" \"$@\"")
    return folder


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def build(tools: Path, *functions: str) -> tuple[list[str], dict[str, str]]:
    noted = tools.parent / "noted.json"
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "CARGO_HOME": "/some one/.cargo",
        "NOTED": str(noted),
    }
    subprocess.run([str(SCRIPT), *functions], env=environment, check=True, capture_output=True)
    arguments, seen = json.loads(noted.read_text())
    return arguments, seen


def test_the_functions_are_built_for_lambda_with_the_compiler_that_has_the_target(tools: Path) -> None:
    arguments, seen = build(tools, "trigger", "count-shed")
    assert arguments[:2] == ["lambda", "build"]
    assert {"--locked", "--release", "--arm64", "--skip-target-check"} <= set(arguments)
    assert arguments[-4:] == ["--bin", "trigger", "--bin", "count-shed"]
    assert seen["CARGO_TARGET_DIR"] == "target/arm64"
    assert seen["RUSTUP_AUTO_INSTALL"] == "0"


def test_paths_of_this_machine_are_remapped_to_fixed_names(tools: Path) -> None:
    _, seen = build(tools, "trigger")
    assert seen["CARGO_ENCODED_RUSTFLAGS"].split("\x1f") == [
        "-Ctarget-cpu=neoverse-n1",
        f"--remap-path-prefix={PROJECT}=/freshq",
        "--remap-path-prefix=/some one/.cargo/registry/src=/crates",
    ]


def test_without_functions_the_usage_is_printed() -> None:
    finished = captured([str(SCRIPT)])
    assert finished.returncode == 2
    assert "usage:" in finished.stderr


CLI = PROJECT / "delivery" / "build-cli.sh"


def build_cli(tools: Path, platform: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "NOTED": str(tools.parent / "noted.json"),
    }
    return captured([str(CLI), platform], env=environment)


@pytest.mark.parametrize(
    ("platform", "target"),
    [("linux-x64", "x86_64-unknown-linux-gnu.2.28"), ("linux-arm64", "aarch64-unknown-linux-gnu.2.28")],
)
def test_the_command_for_linux_is_built_for_an_old_glibc_with_its_locked_dependencies(
    tools: Path, platform: str, target: str
) -> None:
    build_cli(tools, platform)
    arguments, seen = json.loads((tools.parent / "noted.json").read_text())
    assert arguments[:3] == ["zigbuild", "--locked", "--release"]
    assert arguments[arguments.index("--target") + 1] == target
    assert seen["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")[0] == f"--remap-path-prefix={PROJECT}=/freshq"


@pytest.mark.skipif(sys.platform == "darwin", reason="builds on macOS")
def test_the_build_of_the_macos_command_fails_on_other_systems(tools: Path) -> None:
    finished = build_cli(tools, "darwin-arm64")
    assert finished.returncode == 1
    assert "darwin-arm64 can only be built on macOS. The release workflow builds it there." in finished.stderr


def test_the_command_for_an_unknown_platform_is_rejected(tools: Path) -> None:
    finished = build_cli(tools, "win32-x64")
    assert finished.returncode == 2
    assert "usage: delivery/build-cli.sh linux-x64|linux-arm64|darwin-x64|darwin-arm64" in finished.stderr
