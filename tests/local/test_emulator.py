"""The start of the local AWS."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from local import emulator


def test_another_process_can_take_the_free_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        ports = iter([taken, emulator._free_port()])
        monkeypatch.setattr(emulator, "_free_port", lambda: next(ports))
        with emulator.start(tmp_path / "aws") as running:
            assert running.endpoint != f"http://127.0.0.1:{taken}"
