"""The table of a full smoke test."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smoke.report import Result

_COLOURS = {"ok": "green", "FAILED": "bold red", "skipped": "yellow"}


def show(results: list[Result], console: Console | None = None) -> None:
    """Print every check with its duration. Without a terminal, use 180 columns instead of 80, so that notes fit."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = 180
    table = Table(title="smoke test")
    for heading in ("check", "result"):
        table.add_column(heading)
    table.add_column("seconds", justify="right")
    table.add_column("found", overflow="fold")
    for result in results:
        state = Text(result.state, _COLOURS[result.state])
        table.add_row(result.name, state, f"{result.seconds:.1f}", Text(result.note))
    console.print(table)
