"""Runs a command in a pseudoterminal; pyte emulates the screen."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import pyte
from pyte.screens import Char
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.style import Style
from rich.text import Text

#: The private mode of the alternate screen, as pyte encodes it.
ALTERNATE_SCREEN = 1049 << 5
WAIT_SECONDS = 30.0
#: The character that fills a whole cell.
BLOCK = "█"


class Terminal:
    """The screen of a command, and its keyboard."""

    def __init__(self, master: int, slave: int, process: subprocess.Popen[bytes], screen: pyte.Screen) -> None:
        self.process = process
        self.screen = screen
        self._master = master
        self._slave = slave
        self._stream = pyte.ByteStream(screen)

    @property
    def text(self) -> str:
        """The screen as text, one line per row."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def is_alternate(self) -> bool:
        """Whether the command draws on the alternate screen."""
        return ALTERNATE_SCREEN in self.screen.mode

    @property
    def settings(self) -> list[Any]:
        """The terminal's attributes, such as echo, signals and line mode."""
        return termios.tcgetattr(self._slave)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size of the window; the kernel sends SIGWINCH to the command."""
        self.screen.resize(rows, columns)
        # Clears the screen, so that new cells are blank, as in a real terminal.
        self.screen.erase_in_display(2)
        set_size(self._master, columns, rows)

    def wait(self, condition: Callable[[str], Any], what: str, seconds: float = WAIT_SECONDS) -> str:
        """Draws the command's output until the screen meets `condition` and returns the screen."""
        deadline = time.monotonic() + seconds
        while not condition(self.text):
            assert self.process.poll() is None, f"the command ended before: {what}, on\n{self.text}"
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}, on\n{self.text}"
            self._draw(0.1)
        return self.text

    def wait_for(self, *patterns: str) -> str:
        """Draws the output until the screen matches every pattern and returns the screen."""
        return self.wait(lambda text: all(re.search(pattern, text) for pattern in patterns), " and ".join(patterns))

    def ended(self, seconds: float = WAIT_SECONDS) -> int:
        """Draws the output until the command ends and returns its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: the end, on\n{self.text}"
            self._draw(0.1)
        while self._draw(0.1):
            pass
        return self.process.returncode

    def _draw(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            self._stream.feed(os.read(self._master, 65536))
        return bool(ready)

    def svg(self, title: str) -> str:
        """The screen as an SVG image."""
        # Remove the fonts, which the format loads from a web server.
        plain = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        lines = [Text() for _ in range(self.screen.lines)]
        for row, line in enumerate(lines):
            cells = [self.screen.buffer[row][column] for column in range(self.screen.columns)]
            for look, same in groupby(cells, style):
                # Draw a block as a background, because glyphs leave gaps between the image's lines.
                line.append("".join(cell.data for cell in same).replace(BLOCK, " "), look)
        console = Console(record=True, width=self.screen.columns, file=io.StringIO())
        console.print(Text("\n").join(lines))
        return console.export_svg(title=title, code_format=plain, unique_id="watch")


@contextmanager
def terminal(command: list[str], environment: dict[str, str], columns: int, rows: int) -> Iterator[Terminal]:
    """Runs a command in a terminal of this size. Kills the command at the end of the block if it is still running."""
    master, slave = pty.openpty()
    try:
        set_size(master, columns, rows)
        process = subprocess.Popen(
            command,
            env=environment | {"TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            # Sets the controlling terminal, because the kernel sends SIGWINCH only to the processes of that terminal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        try:
            yield Terminal(master, slave, process, pyte.Screen(columns, rows))
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(master)
        os.close(slave)


def set_size(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def style(cell: Char) -> Style:
    """A cell's style in the format of the rich library."""

    def colour(name: str) -> str | None:
        if name == "default":
            return None
        if re.fullmatch("[0-9a-f]{6}", name):
            return f"#{name}"
        return name.replace("brown", "yellow").replace("bright", "bright_")

    return Style(color=colour(cell.fg), bgcolor=colour(cell.bg), bold=cell.bold, reverse=cell.reverse or cell.data == BLOCK)
