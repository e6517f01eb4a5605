"""Checks, one after the other, and the table of what they found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

_COLOURS = {"ok": "green", "FAILED": "bold red", "skipped": "yellow"}


class Skipped(Exception):
    """A check that does not apply here; the message says why."""


class CheckFailed(RuntimeError):
    """A check found something else than promised; the message says what."""


@dataclass(frozen=True)
class Result:
    """What one check found."""

    name: str
    #: `ok`, `FAILED` or `skipped`.
    state: str
    seconds: float
    #: What was measured, or why the check failed or was skipped.
    note: str


@dataclass
class Report:
    """Runs checks and keeps their results; a failed check does not stop the next one."""

    console: Console
    results: list[Result] = field(default_factory=list)

    def check(self, name: str, run: Callable[[], str]) -> bool:
        """Run one check, which returns a note; whether it did not fail."""
        began = time.monotonic()
        try:
            state, note = "ok", run()
        except Skipped as reason:
            state, note = "skipped", str(reason)
        except Exception as error:  # noqa: BLE001 - the table shows it, and the exit code is 1
            state, note = "FAILED", f"{type(error).__name__}: {error}"
        result = Result(name, state, time.monotonic() - began, note)
        self.results.append(result)
        self.console.print(Text(f"{state:7} ", _COLOURS[state]) + Text(f"{name}: {note}"))
        return state != "FAILED"

    @property
    def failed(self) -> list[Result]:
        """The checks that failed."""
        return [result for result in self.results if result.state == "FAILED"]

    def table(self) -> Table:
        """Every check with its duration."""
        table = Table(title="smoke test")
        for heading in ("check", "result"):
            table.add_column(heading)
        table.add_column("seconds", justify="right")
        table.add_column("found", overflow="fold")
        for result in self.results:
            state = Text(result.state, _COLOURS[result.state])
            table.add_row(result.name, state, f"{result.seconds:.1f}", Text(result.note))
        return table


def expect(holds: bool, otherwise: str) -> None:
    """Raise `CheckFailed` with that message unless it holds."""
    if not holds:
        raise CheckFailed(otherwise)
