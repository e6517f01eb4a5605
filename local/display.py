"""Provides the demonstrations with a local AWS that runs their stack, and with a display of a burst's state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live

from local import deployment, emulator, progress
from local.assembly import Assembly
from local.history import Change
from local.paths import STATE
from local.progress import Wave
from local.stack import S
from local.waiting import now_ms

_LINE_EVERY_MS = 2000


@contextmanager
def deployed(name: str, console: Console, assembly: Assembly, kind: type[S], **options: Any) -> Iterator[S]:
    """Yields a demonstration's stack, on a local AWS that runs until the block ends. Prints each step.

    `options` are passed to `emulator.start`.
    """
    directory = STATE / name
    console.print("[bold]Starting the local AWS[/bold]")
    local_aws = emulator.start(directory, **options)
    try:
        console.print(f"  ministack at {local_aws.endpoint}")
        yield deployment.deploy(local_aws, assembly, kind, lambda step: console.print(f"  {step}"))
    finally:
        local_aws.stop()
        console.print(f"Stopped the local AWS; its log: {directory.relative_to(STATE.parent)}")


class Display:
    """A panel that is redrawn in place on a terminal. Without a terminal, prints a line every two seconds."""

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
