"""Runs checks one after another and prints plain text, because a privileged job installs only the AWS libraries."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial


class Skipped(Exception):
    """Raised by a check that doesn't apply in this environment. The message contains the reason."""


class CheckFailed(RuntimeError):
    """Raised by a check that finds an unexpected result. The message contains the result."""


@dataclass(frozen=True)
class Result:
    name: str
    #: `ok`, `FAILED` or `skipped`.
    state: str
    seconds: float
    #: The measurement, or the reason why the check failed or was skipped.
    note: str


@dataclass
class Report:
    """Runs checks and keeps their results. A failed check doesn't prevent the next one."""

    say: Callable[[str], None] = partial(print, flush=True)
    results: list[Result] = field(default_factory=list)

    def check(self, name: str, run: Callable[[], str]) -> bool:
        """Runs one check, which returns a note. Returns False if the check failed."""
        began = time.monotonic()
        try:
            state, note = "ok", run()
        except Skipped as reason:
            state, note = "skipped", str(reason)
        except Exception as error:  # noqa: BLE001 - the table shows it, and the exit code is 1
            state, note = "FAILED", f"{type(error).__name__}: {error}"
        result = Result(name, state, time.monotonic() - began, note)
        self.results.append(result)
        self.say(f"{state:7} {result.seconds:6.1f} s  {name}: {note}")
        return state != "FAILED"

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if result.state == "FAILED"]


def expect(holds: bool, otherwise: str) -> None:
    """Raises `CheckFailed` with the message `otherwise`, unless `holds`."""
    if not holds:
        raise CheckFailed(otherwise)
