"""Shows the state of the demonstration on a terminal, or line by line in a log."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live

from local import progress
from local.history import Change
from local.progress import Wave
from local.waiting import now_ms

_LINE_EVERY_MS = 2000


class Display:
    """A panel that is redrawn in place on a terminal; elsewhere a line every two seconds."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._began = now_ms()
        self._last_line = 0
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, changes: list[Change], waves: list[Wave]) -> None:
        if self._console.is_terminal:
            panel = progress.panel(changes, waves, self._total, self._began)
            self._live.update(panel, refresh=True)
        elif now_ms() - self._last_line >= _LINE_EVERY_MS:
            self._last_line = now_ms()
            self._console.print("  " + progress.line(changes, waves, self._total))
