"""The archive of the package, and apps that use it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import standins
from consumer import ALL_FUNCTIONS, COMPILERS, FLOOR, LATEST, SECONDS, App, installed

from delivery import package


@pytest.fixture(scope="session")
def work() -> Iterator[Path]:
    """A folder outside the repository."""
    with tempfile.TemporaryDirectory(prefix="freshq-package-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def functions(work: Path) -> package.Functions:
    """Stand-ins for the functions."""
    return package.Functions(standins.write(work / "functions", ALL_FUNCTIONS), ALL_FUNCTIONS, "stand-ins")


@pytest.fixture(scope="session")
def tarball(work: Path, functions: package.Functions) -> Path:
    """The archive: `FRESHQ_TARBALL`, or one that is built with stand-ins for the functions."""
    given = os.environ.get("FRESHQ_TARBALL")
    return Path(given).resolve() if given else package.build(functions, work)


@pytest.fixture(scope="session")
def latest(work: Path, tarball: Path) -> App:
    """An app with the newest tested version of the CDK."""
    compilers = [f"{name}@npm:typescript@{version}" for name, version in COMPILERS.items()]
    others = ["ts-jest@29", "jest@30", "@types/jest@30", "@types/node@22"]
    return installed(work / "latest", tarball, f"aws-cdk-lib@{LATEST}", "constructs@10", *compilers, *others)


@pytest.fixture(scope="session")
def floor(work: Path, tarball: Path) -> App:
    """An app with the oldest version of the CDK."""
    others = ["constructs@10.0.0", "typescript@5.9", "@types/node@22", "@types/jest@30"]
    return installed(work / "floor", tarball, f"aws-cdk-lib@{FLOOR}", *others)


@pytest.fixture(scope="session")
def node(work: Path) -> Callable[[str], str]:
    """Installs a version of Node.js; returns its folder."""

    def install(version: str) -> str:
        folder = work / f"node{version}"
        if not folder.exists():
            folder.mkdir()
            npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"node@{version}"]
            subprocess.run(npm, cwd=folder, check=True, timeout=SECONDS)
        return str(folder)

    return install
