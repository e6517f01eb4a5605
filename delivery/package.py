"""Builds the npm package `freshq`: compiled constructs and the functions as zip files.

The same commit and binaries give the same bytes: the zip files have fixed times and modes, and npm writes archives
without times.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from delivery.arm64 import elf
from local.paths import PROJECT

#: The earliest time that a zip file can contain.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: The fields of the repository's package.json that the published one has too.
_SHARED = ("name", "version", "description", "license", "engines", "peerDependencies")
_STAGE = PROJECT / "target" / "package" / "freshq"


@dataclass(frozen=True)
class Functions:
    """The functions to pack, and their origin."""

    #: Folder with one folder per function, which contains `bootstrap`.
    built: Path
    names: tuple[str, ...]
    rustc: str


def build(functions: Functions, out: Path) -> Path:
    """Write `freshq-<version>.tgz` to the folder ``out``; returns its path."""
    shutil.rmtree(_STAGE, ignore_errors=True)
    _run("node_modules/.bin/tsc", "--project", "tools/package/tsconfig.json")
    shutil.copytree(PROJECT / "infra" / "lambda" / "placeholder", _STAGE / "lib" / "lambda" / "placeholder")
    for name in ("LICENSE", "README.md"):
        source = PROJECT / name if name == "LICENSE" else PROJECT / "tools" / "package" / name
        shutil.copyfile(source, _STAGE / name)
    package = _package_json()
    _write_json(_STAGE / "package.json", package)
    _write_json(_STAGE / "functions" / "manifest.json", _manifest(str(package["version"]), functions))
    out.mkdir(parents=True, exist_ok=True)
    packed = _run("npm", "pack", "--silent", "--pack-destination", str(out), cwd=_STAGE)
    return out / packed.strip()


def rustc() -> str:
    """The compiler with which `make build` builds for arm64."""
    return _run("delivery/build-arm64.sh", "--check").strip()


def zip_bootstrap(binary: Path, path: Path) -> str:
    """Write the zip file of a function to ``path``; returns its SHA-256."""
    entry = zipfile.ZipInfo("bootstrap", _EPOCH)
    entry.create_system = 3  # Unix, so that the mode counts
    entry.external_attr = 0o100755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, binary.read_bytes(), compresslevel=9)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _package_json() -> dict[str, object]:
    source = json.loads((PROJECT / "package.json").read_text())
    return {name: source[name] for name in _SHARED} | {
        "keywords": ["aws", "cdk", "lambda", "dynamodb", "queue", "lifo", "task-queue"],
        "type": "commonjs",
        "main": "./lib/index.js",
        "types": "./lib/index.d.ts",
        "exports": {
            ".": {"types": "./lib/index.d.ts", "default": "./lib/index.js"},
            "./package.json": "./package.json",
        },
        "files": ["lib", "functions"],
    }


def _manifest(version: str, functions: Functions) -> dict[str, object]:
    return {
        "version": version,
        "commit": _run("git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*").strip(),
        "rustc": functions.rustc,
        "contract": hashlib.sha256((PROJECT / "tests" / "contract.json").read_bytes()).hexdigest(),
        "sha256": dict(_zips(functions)),
    }


def _zips(functions: Functions) -> Iterable[tuple[str, str]]:
    for name in sorted(functions.names):
        binary = functions.built / name / "bootstrap"
        if not binary.is_file():
            raise RuntimeError(f"{binary} does not exist. Remedy: run `make build`")
        problems = elf.read(binary).problems()
        if problems:
            raise RuntimeError(f"{binary}: {'; '.join(problems)}")
        yield name, zip_bootstrap(binary, _STAGE / "functions" / "arm64" / f"{name}.zip")


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def _run(*command: str, cwd: Path = PROJECT) -> str:
    finished = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {finished.returncode}")
    return finished.stdout
