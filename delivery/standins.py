"""Stand-ins for functions that weren't built: arm64 programs that can't run.

Used only by the package tests and `make release DRY=1`. The package manifest lists them as its compiler.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

#: Value of the `rustc` field in the manifest of a package with stand-ins.
COMPILER = "stand-ins"
_EM_AARCH64 = 183


def write(root: Path, names: Iterable[str]) -> Path:
    """Writes `<root>/<name>/bootstrap` for each name, each with unique bytes, and returns ``root``."""
    for name in names:
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        bootstrap = folder / "bootstrap"
        bootstrap.write_bytes(_elf() + name.encode())
        bootstrap.chmod(0o755)
    return root


def _elf() -> bytes:
    """The header of a 64-bit little-endian ELF program without segments or sections."""
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, _EM_AARCH64, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0)
