"""The package archive, and apps that use the package."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from consumer import ALL_FUNCTIONS, COMPILERS, FLOOR, HERE, LATEST, App, compile_with, install, installed

from delivery import commands, package, standins
from delivery.npm import Metadata


@pytest.fixture(scope="session")
def work() -> Iterator[Path]:
    """A folder outside the repository."""
    folder = tempfile.mkdtemp(prefix="freshq-package-")
    yield Path(folder)
    # Uses rm, which is much faster than Python for the CDK's many files.
    subprocess.run(["rm", "-rf", folder], check=True)


@pytest.fixture(scope="session")
def functions(work: Path) -> package.Functions:
    return package.Functions(standins.write(work / "functions", ALL_FUNCTIONS), ALL_FUNCTIONS, standins.COMPILER)


@pytest.fixture(scope="session")
def tarball(work: Path, functions: package.Functions) -> Path:
    """The package archive: `FRESHQ_TARBALL`, or an archive built with stubs for the functions."""
    given = os.environ.get("FRESHQ_TARBALL")
    return Path(given).resolve() if given else package.build(functions, work)


@pytest.fixture(scope="session")
def command(work: Path, tarball: Path) -> Path:
    """The archive of this machine's command, which is next to `FRESHQ_TARBALL` or contains a stub."""
    cpu = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
    [platform] = [each for each in commands.PLATFORMS if (each.os, each.cpu) == ("linux", cpu)]
    metadata = Metadata.read()
    if "FRESHQ_TARBALL" in os.environ:
        return tarball.parent / f"freshq-cli-{platform.name}-{metadata.version}.tgz"
    return commands.build(platform, HERE / "stub.sh", metadata, work)


@pytest.fixture(scope="session")
def latest(work: Path, tarball: Path, command: Path) -> App:
    """An app with the package and the newest tested CDK version."""
    compilers = [f"{name}@npm:typescript@{version}" for name, version in COMPILERS.items()]
    others = ["ts-jest@29", "jest@30", "@types/jest@30", "@types/node@22"]
    return installed(work / "latest", tarball, command, f"aws-cdk-lib@{LATEST}", "constructs@10", *compilers, *others)


@pytest.fixture(scope="session")
def compiled(latest: App) -> App:
    """The app of `latest`, compiled into `out`."""
    compile_with(latest, "typescript")
    return latest


@pytest.fixture(scope="session")
def floor(work: Path, tarball: Path) -> App:
    """An app with the package and the oldest supported CDK version."""
    others = ["constructs@10.0.0", "typescript@5.9", "@types/node@22", "@types/jest@30"]
    return installed(work / "floor", tarball, f"aws-cdk-lib@{FLOOR}", *others)


@pytest.fixture(scope="session")
def node(work: Path) -> Callable[[str], str]:
    """Installs a Node.js version and returns its folder."""

    def folder_of(version: str) -> str:
        folder = work / f"node{version}"
        if not folder.exists():
            folder.mkdir()
            install(folder, f"node@{version}")
        return str(folder)

    return folder_of
