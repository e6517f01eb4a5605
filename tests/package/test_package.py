"""The npm package in apps outside the repository: it compiles, runs, and deploys the functions that it contains."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from consumer import ALL_FUNCTIONS, COMPILERS, App, compile_with
from elftools.elf.elffile import ELFFile

from delivery import package
from project.paths import PROJECT

TOOLS = PROJECT / "tools" / "package" / "node_modules" / ".bin"


def synthesized(app: App, *command: str, node: str | None = None) -> Path:
    """Runs an app as the CDK CLI does, and returns the assembly folder."""
    out = app.folder / "cdk.out"
    app.run("node", *command, node=node, CDK_OUTDIR=str(out))
    return out


def manifest(app: App) -> dict[str, Any]:
    text = (app.folder / "node_modules" / "freshq" / "functions" / "manifest.json").read_text()
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def code_of_functions(out: Path) -> list[Path]:
    """The assets of all functions with a bootstrap."""
    template = json.loads((out / "Quotes.template.json").read_text())
    assets = json.loads((out / "Quotes.assets.json").read_text())["files"]
    functions = [each for each in template["Resources"].values() if each["Type"] == "AWS::Lambda::Function"]
    keys = [each["Properties"]["Code"]["S3Key"] for each in functions if each["Properties"]["Handler"] == "bootstrap"]
    return [out / assets[key.removesuffix(".zip")]["source"]["path"] for key in keys]


@pytest.mark.parametrize("compiler", sorted(set(COMPILERS) - {"typescript"}))
def test_strict_app_compiles_with_later_compilers(latest: App, compiler: str) -> None:
    compile_with(latest, compiler, "--noEmit")


def test_strict_app_compiles_and_synthesizes_with_the_oldest_cdk(floor: App) -> None:
    compile_with(floor, "typescript")
    assert len(code_of_functions(synthesized(floor, "out/bin/app.js"))) == len(ALL_FUNCTIONS)


@pytest.mark.parametrize("version", [None, "22", "24"], ids=["own", "22", "24"])
def test_compiled_app_deploys_the_functions_of_the_package(
    compiled: App, node: Callable[[str], str], version: str | None
) -> None:
    used = node(version) if version else None
    assert version is None or compiled.run("node", "--version", node=used).startswith(f"v{version}.")
    code = code_of_functions(synthesized(compiled, "out/bin/app.js", node=used))
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in code]
    assert sorted(hashes) == sorted(manifest(compiled)["sha256"].values())
    for path in code:
        with zipfile.ZipFile(path) as archive:
            [entry] = archive.infolist()
            assert (entry.filename, entry.external_attr >> 16) == ("bootstrap", 0o100755)
            with archive.open(entry) as stream:
                assert ELFFile(stream)["e_machine"] == "EM_AARCH64"


def test_app_passes_its_tests_with_ts_jest(latest: App) -> None:
    finished = latest.attempt("node", "node_modules/jest/bin/jest.js")
    assert finished.returncode == 0, finished.stderr
    # One test from the app and one from docs/how-to/test-your-app.md.
    assert re.search(r"^Tests: +2 passed, 2 total$", finished.stderr, re.MULTILINE), finished.stderr


@pytest.mark.parametrize("app", ["app.mjs", "app.cjs"])
def test_package_loads_as_es_module_and_as_commonjs(latest: App, app: str) -> None:
    assert code_of_functions(synthesized(latest, app))


def test_packages_have_the_licences_of_their_crates(latest: App) -> None:
    [command] = (latest.folder / "node_modules" / "@freshq").iterdir()
    functions = latest.folder / "node_modules" / "freshq" / "functions"
    for folder, crate in ((functions, "lambda_runtime"), (command, "clap")):
        text = (folder / "THIRD_PARTY_LICENSES").read_text()
        assert re.search(rf"^{crate} \d+\.\d+\.\d+ \(.+\)$", text, re.MULTILINE), folder


def test_changed_function_is_rejected(latest: App) -> None:
    zip_file = latest.folder / "node_modules" / "freshq" / "functions" / "arm64" / "trigger.zip"
    original = zip_file.read_bytes()
    zip_file.write_bytes(original + b"\n")
    try:
        finished = latest.attempt("node", "app.mjs")
    finally:
        zip_file.write_bytes(original)
    assert finished.returncode != 0
    assert "trigger.zip is not the function trigger of freshq" in finished.stderr
    assert "Remedy: delete node_modules/freshq" in finished.stderr


@pytest.mark.skipif("FRESHQ_TARBALL" in os.environ, reason="compares archives built here")
def test_second_build_has_the_same_bytes(work: Path, tarball: Path, functions: package.Functions) -> None:
    again = package.build(functions, work / "again")
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(tarball.read_bytes()).digest()


@pytest.mark.parametrize("command", [["publint", "--strict"], ["attw"]], ids=["publint", "attw"])
def test_package_passes_publint_and_attw(tarball: Path, command: list[str]) -> None:
    name, *options = command
    subprocess.run([str(TOOLS / name), *options, str(tarball)], check=True, timeout=300)
