"""Builds the `freshq` npm package: compiled constructs, the functions as zip files, and the command launcher.

The same commit and binaries produce identical bytes: the zip files have fixed timestamps and modes, and npm writes
archives without timestamps.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from delivery import crates
from delivery.arm64 import elf
from delivery.commands import PLATFORMS
from delivery.npm import Metadata, pack, run, write_json
from project.paths import PROJECT

#: The folder to which `make build` writes the functions for AWS.
BUILT = PROJECT / "target" / "arm64" / "lambda"
#: Compiler target of the functions.
TARGET = "aarch64-unknown-linux-gnu"
#: The earliest timestamp that a zip file can contain.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_TOOLS = PROJECT / "tools" / "package"
_STAGE = PROJECT / "target" / "package" / "freshq"


@dataclass(frozen=True)
class Functions:
    """The functions to package, and their origin."""

    #: Folder with one subfolder per function. Each subfolder contains `bootstrap`.
    built: Path
    names: tuple[str, ...]
    rustc: str


def build(functions: Functions, out: Path) -> Path:
    """Writes `freshq-<version>.tgz` to the folder ``out`` and returns its path."""
    metadata = Metadata.read()
    shutil.rmtree(_STAGE, ignore_errors=True)
    run("node_modules/.bin/tsc", "--project", "tools/package/tsconfig.json")
    shutil.copytree(PROJECT / "infra" / "shared" / "placeholder", _STAGE / "lib" / "shared" / "placeholder")
    shutil.copytree(_TOOLS / "bin", _STAGE / "bin")
    shutil.copyfile(PROJECT / "LICENSE", _STAGE / "LICENSE")
    shutil.copyfile(_TOOLS / "README.md", _STAGE / "README.md")
    write_json(_STAGE / "package.json", _package_json(metadata))
    write_json(_STAGE / "functions" / "manifest.json", _manifest(metadata.version, functions))
    linked = crates.linked(TARGET, functions.names)
    (_STAGE / "functions" / "THIRD_PARTY_LICENSES").write_text(crates.licences(linked))
    return pack(_STAGE, out)


def rustc() -> str:
    """The compiler that `make build` uses for arm64."""
    return run("delivery/build-arm64.sh", "--check").strip()


def zip_bootstrap(binary: Path, path: Path) -> str:
    """Writes a function's zip file to ``path`` and returns its SHA-256 hash."""
    entry = zipfile.ZipInfo("bootstrap", _EPOCH)
    entry.create_system = 3  # Unix, so that the file mode applies
    entry.external_attr = 0o100755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, binary.read_bytes(), compresslevel=9)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _package_json(metadata: Metadata) -> dict[str, object]:
    return {
        "name": metadata.source["name"],
        "description": metadata.source["description"],
        **metadata.shared,
        "keywords": ["aws", "cdk", "lambda", "dynamodb", "queue", "lifo", "task-queue"],
        "type": "commonjs",
        "main": "./lib/index.js",
        "types": "./lib/index.d.ts",
        "exports": {
            ".": {"types": "./lib/index.d.ts", "default": "./lib/index.js"},
            "./testing": {"types": "./lib/testing.d.ts", "default": "./lib/testing.js"},
            "./package.json": "./package.json",
        },
        # For `moduleResolution: node10`, which doesn't read `exports`.
        "typesVersions": {"*": {"testing": ["./lib/testing.d.ts"]}},
        "bin": {"freshq": "bin/freshq.js"},
        "files": ["bin", "lib", "functions"],
        "peerDependencies": metadata.source["peerDependencies"],
        "optionalDependencies": {platform.package: metadata.version for platform in PLATFORMS},
    }


def _manifest(version: str, functions: Functions) -> dict[str, object]:
    return {
        "version": version,
        "commit": run("git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*").strip(),
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
