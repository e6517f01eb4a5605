"""Publishes the files of a release to npm. It runs in a privileged job, so it requires only Python and npm.

    python3 delivery/publish.py <folder of make release>
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path


def main(folder: Path) -> None:
    """Verifies the checksums, then publishes each package that npm doesn't have yet, in list order."""
    archives = []
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        checksum, name = line.split("  ")
        if Path(name).name != name or hashlib.sha256((folder / name).read_bytes()).hexdigest() != checksum:
            raise SystemExit(f"{name} is not the file that was built: its SHA-256 is not {checksum}")
        if name.endswith(".tgz"):
            archives.append(folder / name)
    for archive in archives:
        package = _inside(archive, "package/package.json")
        identity = f"{package['name']}@{package['version']}"
        # Skips published packages, so that a rerun after a failure publishes the remaining ones.
        if subprocess.run(["npm", "view", identity, "version"], capture_output=True, check=False).stdout.strip():
            print(f"{identity} is already published", flush=True)
            continue
        print(f"publishing {identity}", flush=True)
        subprocess.run(["npm", "publish", "--access", "public", "--provenance", str(archive)], check=True)


def _inside(archive: Path, name: str) -> dict[str, str]:
    with tarfile.open(archive) as files:
        member = files.extractfile(name)
        if member is None:
            raise SystemExit(f"{archive} has no {name}")
        loaded: dict[str, str] = json.load(member)
        return loaded


if __name__ == "__main__":
    main(Path(sys.argv[1]))
