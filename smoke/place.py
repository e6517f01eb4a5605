"""The environment of a smoke test: the AWS account of the current credentials, or a local AWS for this test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from delivery import account
from local import deployment, emulator
from local.emulator import Emulator
from project.captured import captured
from project.paths import STATE

_FRESHQ_SECONDS = 600


@dataclass(frozen=True)
class Place:
    """An AWS account or a local AWS."""

    session: boto3.Session
    #: The emulator; None on real AWS.
    emulator: Emulator | None

    @property
    def is_local(self) -> bool:
        """Whether this is the emulator, which doesn't support alarms and metrics."""
        return self.emulator is not None

    @property
    def endpoint(self) -> str | None:
        """The endpoint for all services; None for the AWS endpoints."""
        return self.emulator.endpoint if self.emulator else None

    def client(self, service: str) -> Any:
        return self.session.client(service, endpoint_url=self.endpoint)


@contextmanager
def local_aws() -> Iterator[Place]:
    with emulator.start(STATE / "smoke") as running:
        yield Place(deployment.fake_session(), running)


def real_aws() -> Place:
    """The account of the current credentials. Raises `account.NoAccount`."""
    account.identify()
    return Place(account.session(), None)


@dataclass(frozen=True)
class Freshq:
    """The operator command for one environment's queue."""

    program: Path
    #: Environment and personal name, in the format of `freshq --env`.
    suffix: str
    place: Place

    def __call__(self, verb: str, *arguments: str) -> str:
        """Runs a verb and returns its output. Raises `RuntimeError` with the output if the verb fails."""
        running = self.place.emulator
        finished = captured(
            [str(self.program), verb, "--env", self.suffix, *arguments],
            env=emulator.local_environment(running.endpoint) if running else dict(os.environ),
            timeout=_FRESHQ_SECONDS,
        )
        if finished.returncode != 0:
            raise RuntimeError(
                f"freshq {verb} ended with code {finished.returncode}: {finished.stdout}{finished.stderr}"
            )
        return finished.stdout
