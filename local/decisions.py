"""The authorization decisions of an emulator that enforces IAM."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Decision:
    """Whether a role was allowed to perform an action on a resource."""

    role: str
    #: Role session name, which is the name of the function that uses the role.
    session: str
    action: str
    resource: str
    allowed: bool

    def __str__(self) -> str:
        return f"{self.role}: {self.action} on {self.resource} {'allowed' if self.allowed else 'DENIED'}"


class Decisions:
    """Reads the decisions that an emulator writes to a file. Each read returns only new decisions."""

    def __init__(self, path: Path, since_start: bool = False) -> None:
        """Reads the decisions written to `path` after this call, or all since the emulator started."""
        self._path = path
        self._read = 0 if since_start else path.stat().st_size

    def since(self) -> list[Decision]:
        """Returns the decisions written since the last call."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            written = file.read()
        # The emulator might be in the middle of writing a line.
        whole = written[: written.rfind(b"\n") + 1]
        self._read += len(whole)
        return [Decision(**json.loads(line)) for line in whole.splitlines()]
