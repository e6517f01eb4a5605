"""Fixtures for the command, which is built once, and for a runner whose runs the tests end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import built_freshq
from server import Dev, Runner, held_runner


@pytest.fixture(scope="session")
def command() -> str:
    return built_freshq()


@pytest.fixture
def downstream() -> Iterator[Runner]:
    """A runner whose runs end only when the test ends them."""
    with held_runner() as running:
        yield running


@pytest.fixture
def dev(command: str, downstream: Runner) -> Iterator[Dev]:
    """An in-memory queue that runs one task at a time."""
    with Dev.started(command, "--runner", downstream.url, "--concurrency", "1") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "data")
