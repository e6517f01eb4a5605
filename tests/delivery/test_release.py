"""The contents of a release and its publication."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from delivery import commands, crates, release, standins
from delivery.npm import Metadata
from project.captured import captured
from project.paths import PROJECT

DARWIN_ARM64, _, LINUX_ARM64, LINUX_X64 = commands.PLATFORMS


def crate(folder: Path, licence: str, **files: str) -> crates.Crate:
    """A crate whose folder contains these files."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    return crates.Crate(folder.name, "1.0.0", licence, ("Ada",), folder)


@pytest.fixture(scope="module")
def linked() -> list[crates.Crate]:
    return crates.linked("aarch64-unknown-linux-gnu", ("process-tasks", "trigger"))


def test_crates_of_a_function_are_those_that_it_links(linked: list[crates.Crate]) -> None:
    names = {each.name for each in linked}
    assert {"aws-sdk-dynamodb", "lambda_runtime", "tokio"} <= names
    # Only tests, procedural macros and build scripts use these crates.
    assert not names & {"proptest", "dynoxide-rs", "serde_derive", "cc", "syn"}


def test_a_package_outside_of_the_workspace_is_rejected() -> None:
    with pytest.raises(RuntimeError, match="does not have all of process-tasks, tokio"):
        crates.linked("aarch64-unknown-linux-gnu", ("process-tasks", "tokio"))


def test_every_linked_crate_has_its_licence_text(linked: list[crates.Crate]) -> None:
    document = crates.licences(linked)
    for each in linked:
        assert f"\n{each.name} {each.version} ({each.licence})\n" in document
        assert any(len(text) > 400 for text in each.texts()), each.name


def test_each_licence_text_is_written_once_with_its_crates(tmp_path: Path) -> None:
    same = {"LICENSE-MIT": "Copyright (c) Grace", "README.md": "not a licence"}
    first, second = crate(tmp_path / "first", "MIT", **same), crate(tmp_path / "second", "MIT", **same)
    document = crates.licences([first, second])
    assert document.count("Copyright (c) Grace") == 1
    assert "first 1.0.0 (MIT)\nsecond 1.0.0 (MIT)\n\nCopyright (c) Grace" in document
    assert "not a licence" not in document


def test_crate_without_a_licence_file_gets_a_known_text_or_is_rejected(tmp_path: Path) -> None:
    assert crate(tmp_path / "mit", "MIT").texts()[0].startswith("MIT License\n\nCopyright (c) Ada\n\nPermission")
    apache = crate(tmp_path / "apache", "MIT OR Apache-2.0").texts()
    assert apache == [(PROJECT / "LICENSE").read_text().strip() + "\n"]
    with pytest.raises(RuntimeError, match=r"zlib 1.0.0 \(Zlib\) has no text of its licence"):
        crate(tmp_path / "zlib", "Zlib").texts()


def test_bill_of_materials_names_each_crate_once_with_an_spdx_licence(linked: list[crates.Crate]) -> None:
    bill = json.loads(json.dumps(crates.bill_of_materials("@freshq/cli-linux-x64", "1.2.3", linked)))
    assert bill["metadata"]["component"]["purl"] == "pkg:npm/%40freshq/cli-linux-x64@1.2.3"
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references) == len(linked)
    assert bill["dependencies"] == [{"ref": bill["metadata"]["component"]["bom-ref"], "dependsOn": references}]
    assert not [each for each in bill["components"] if "/" in each["licenses"][0]["expression"]]


def elf(path: Path, machine: int) -> Path:
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    path.write_bytes(ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0))
    return path


def test_a_command_for_another_platform_is_rejected(tmp_path: Path) -> None:
    x64 = elf(tmp_path / "x64", 62)
    assert commands.problems(LINUX_X64, x64) == []
    assert commands.problems(LINUX_ARM64, x64) == [f"{x64} is for X86_64, and not for linux-arm64"]
    assert commands.problems(DARWIN_ARM64, x64) == [f"{x64} is not a program for darwin-arm64"]
    mac = tmp_path / "mac"
    mac.write_bytes(struct.pack("<II", 0xFEEDFACF, 0x0100000C))
    assert commands.problems(DARWIN_ARM64, mac) == []


def test_a_command_that_needs_a_later_glibc_or_another_library_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = commands.elf.Binary("EM_X86_64", (2, 34), frozenset({"libc.so.6", "ld-linux-x86-64.so.2", "libssl.so.3"}))
    monkeypatch.setattr(commands.elf, "read", lambda _path: read)
    found = commands.problems(LINUX_X64, tmp_path / "freshq")
    assert found == [
        f"{tmp_path}/freshq needs glibc 2.34, later than 2.28",
        f"{tmp_path}/freshq loads libssl.so.3",
    ]


def test_the_sources_have_one_version() -> None:
    version = json.loads((PROJECT / "package.json").read_text())["version"]
    assert [each for each in release.version_problems(version) if "has the version" in each] == []
    assert len([each for each in release.version_problems("9.9.9") if "has the version" in each]) == 4


def test_only_a_package_built_in_a_workflow_names_its_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    source: dict[str, object] = {"version": "1.2.3", "license": "Apache-2.0", "engines": {"node": ">=20"}}
    assert Metadata(source, None).shared == source
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.example")
    shared = Metadata(source, "octo-org/freshq").shared
    assert shared["repository"] == {"type": "git", "url": "git+https://github.example/octo-org/freshq.git"}
    assert shared["homepage"] == "https://github.example/octo-org/freshq#readme"
    assert shared["bugs"] == "https://github.example/octo-org/freshq/issues"


def test_a_version_without_changelog_and_tag_is_reported() -> None:
    found = "\n".join(release.version_problems("9.9.9"))
    assert "CHANGELOG.md has no heading `## 9.9.9 (<date>)`" in found
    assert "and not the tag v9.9.9 without changes" in found


def test_stand_ins_are_distinct_arm64_programs(tmp_path: Path) -> None:
    root = standins.write(tmp_path, ["a", "b"])
    assert commands.elf.read(root / "a" / "bootstrap").problems() == []
    assert (root / "a" / "bootstrap").read_bytes() != (root / "b" / "bootstrap").read_bytes()


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes packages without npm or the TypeScript compiler."""

    def write(_part: object, *rest: object) -> Path:
        out = Path(str(rest[-1]))
        out.mkdir(parents=True, exist_ok=True)
        path = out / ("freshq-0.1.0.tgz" if len(rest) == 1 else "freshq-cli-linux-x64-0.1.0.tgz")
        path.write_bytes(b"archive")
        return path

    monkeypatch.setattr(release.package, "build", write)
    monkeypatch.setattr(release.commands, "build", write)


def parts(folder: Path, *, dry: bool) -> release.Release:
    """A release on a machine that built the command for linux-x64 but no functions."""
    (folder / "cli" / "linux-x64").mkdir(parents=True)
    elf(folder / "cli" / "linux-x64" / "freshq", 62)
    functions = release.package.Functions(folder / "functions", ("trigger",), "rustc 1")
    return release.Release(functions, folder / "cli", dry)


@pytest.mark.usefixtures("packed")
def test_a_dry_run_prints_what_would_be_published_and_what_was_not_built(tmp_path: Path) -> None:
    lines: list[str] = []
    release.build(parts(tmp_path, dry=True), tmp_path / "npm", lines.append)
    checksum = hashlib.sha256(b"archive").hexdigest()
    printed = "\n".join(lines)
    for name in ("freshq-cli-linux-x64-0.1.0.tgz", "freshq-0.1.0.tgz"):
        assert re.search(rf"^{name} +7 bytes  sha256 {checksum}$", printed, re.MULTILINE)
    assert re.search(r"^@freshq/cli-linux-x64 0\.1\.0: \d+ crates; MIT OR Apache-2\.0 \(\d+\)", printed, re.MULTILINE)
    assert "freshq contains stand-ins, because the functions were not built here" in printed
    for platform in ("darwin-arm64", "darwin-x64", "linux-arm64"):
        assert f"@freshq/cli-{platform} was not built here" in printed
    listed = [line.split("  ")[1] for line in (tmp_path / "npm" / "SHA256SUMS").read_text().splitlines()]
    # The package with dependencies comes after its dependencies.
    assert listed == [
        "freshq-cli-linux-x64-0.1.0.tgz",
        "freshq-0.1.0.tgz",
        "freshq-0.1.0.cdx.json",
        "freshq-cli-linux-x64-0.1.0.cdx.json",
    ]


@pytest.mark.usefixtures("packed")
def test_a_release_with_missing_parts_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="this is not a release"):
        release.build(parts(tmp_path, dry=False), tmp_path / "npm", lambda _line: None)


@pytest.mark.usefixtures("packed")
def test_a_command_that_is_too_large_fails_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release.commands, "SIZE_CEILING", 6)
    with pytest.raises(RuntimeError, match="has 7 bytes, more than 6"):
        release.build(parts(tmp_path, dry=True), tmp_path / "npm", lambda _line: None)


def archive(folder: Path, name: str, package: str) -> str:
    """Writes a package archive and returns its line for the checksum list."""
    content = json.dumps({"name": package, "version": "1.2.3"}).encode()
    entry = tarfile.TarInfo("package/package.json")
    entry.size = len(content)
    with tarfile.open(folder / name, "w:gz") as files:
        files.addfile(entry, io.BytesIO(content))
    return f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"


def publish(folder: Path, published: str = "") -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Publishes with an npm stub that has the package ``published``, and returns the result and npm's calls."""
    stub = folder / "bin" / "npm"
    stub.parent.mkdir(exist_ok=True)
    stub.write_text(
        f'#!/bin/sh\necho "$@" >> "{folder}/calls"\n[ "$1" = view ] && [ "$2" = "{published}" ] && echo 1.2.3\nexit 0\n'
    )
    stub.chmod(0o755)
    finished = captured(
        [sys.executable, str(PROJECT / "delivery" / "publish.py"), str(folder)],
        cwd=folder,
        env={"PATH": f"{stub.parent}:{os.environ['PATH']}"},
    )
    calls = folder / "calls"
    return finished, calls.read_text().splitlines() if calls.exists() else []


def test_packages_are_published_in_order_and_those_that_exist_are_skipped(tmp_path: Path) -> None:
    lines = archive(tmp_path, "cli.tgz", "@freshq/cli-linux-x64") + archive(tmp_path, "freshq.tgz", "freshq")
    (tmp_path / "freshq.cdx.json").write_text("{}")
    lines += f"{hashlib.sha256(b'{}').hexdigest()}  freshq.cdx.json\n"
    (tmp_path / "SHA256SUMS").write_text(lines)
    finished, calls = publish(tmp_path, "@freshq/cli-linux-x64@1.2.3")
    assert finished.returncode == 0, finished.stderr
    assert calls == [
        "view @freshq/cli-linux-x64@1.2.3 version",
        "view freshq@1.2.3 version",
        f"publish --access public --provenance {tmp_path}/freshq.tgz",
    ]


def test_nothing_is_published_if_a_file_differs_from_its_checksum(tmp_path: Path) -> None:
    lines = archive(tmp_path, "cli.tgz", "@freshq/cli-linux-x64") + archive(tmp_path, "freshq.tgz", "freshq")
    (tmp_path / "SHA256SUMS").write_text(lines)
    (tmp_path / "freshq.tgz").write_bytes(b"changed")
    finished, calls = publish(tmp_path)
    assert finished.returncode != 0
    assert "freshq.tgz is not the file that was built" in finished.stderr
    assert calls == []
