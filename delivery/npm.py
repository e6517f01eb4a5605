"""Functions and metadata shared by the project's npm packages."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from project.paths import PROJECT


@dataclass(frozen=True)
class Metadata:
    """The fields that every published package takes from the repository's package.json."""

    source: dict[str, object]
    #: `owner/name` on GitHub; npm compares it with the provenance. `None` outside a workflow.
    repository: str | None

    @classmethod
    def read(cls) -> Metadata:
        """Reads the repository's package.json and the workflow's environment."""
        return cls(json.loads((PROJECT / "package.json").read_text()), os.environ.get("GITHUB_REPOSITORY"))

    @property
    def version(self) -> str:
        return str(self.source["version"])

    @property
    def shared(self) -> dict[str, object]:
        fields = {name: self.source[name] for name in ("version", "license", "engines")}
        if self.repository is None:
            return fields
        url = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{self.repository}"
        addresses = {"homepage": f"{url}#readme", "bugs": f"{url}/issues"}
        return fields | addresses | {"repository": {"type": "git", "url": f"git+{url}.git"}}


def pack(stage: Path, out: Path) -> Path:
    """Writes a folder's archive to the folder ``out`` and returns its path. npm writes archives without timestamps."""
    out.mkdir(parents=True, exist_ok=True)
    packed = run("npm", "pack", "--silent", "--pack-destination", str(out), cwd=stage)
    return out / packed.strip()


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def run(*command: str, cwd: Path = PROJECT) -> str:
    finished = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {finished.returncode}")
    return finished.stdout
