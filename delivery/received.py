#!/usr/bin/env python3
"""Checks the templates written by a pull request's own code, and copies them as data.

Uses only the standard library, because privileged jobs run this file from the base branch.

    received.py --from FOLDER --into FOLDER

The first FOLDER is a download outside the checkout. Only regular files NAME.json are copied, to a folder that doesn't
exist yet. If there is any other entry, the whole folder is rejected, because the `synth` job doesn't write such entries.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from pathlib import Path

#: Names of the files that the `synth` job writes: templates and manifests.
NAME = re.compile(r"[\w.-]+\.json", re.ASCII)
#: Maximum file size in bytes. CloudFormation accepts templates of up to 1 MB. A manifest or construct tree is larger.
MOST_BYTES = 8 * 1024 * 1024
#: Maximum number of files. For three environments, `synth` writes about twenty.
MOST_FILES = 100


class Rejected(RuntimeError):
    """Raised if the folder contains an entry that must not be copied. The message contains the entry's name."""


def take(received: Path, into: Path) -> list[str]:
    """Copies the templates in `received` to the new folder `into` and returns their names. Raises `Rejected`."""
    if os.path.lexists(into):
        raise Rejected(f"{into} exists already; templates are copied into a new folder only")
    contents = {name: _read(received / name) for name in _names(received)}
    into.mkdir(parents=True)
    for name, content in contents.items():
        (into / name).write_bytes(content)
    return list(contents)


def _names(received: Path) -> list[str]:
    """The sorted names of the folder's entries. Every name matches `NAME`. Symbolic links are not followed."""
    names = os.listdir(received)
    if len(names) > MOST_FILES:
        raise Rejected(f"there are more than {MOST_FILES} files")
    for name in names:
        if not NAME.fullmatch(name):
            raise Rejected(f"{name!r} is not named like a template")
    if not names:
        raise Rejected("there are no templates")
    return sorted(names)


def _read(path: Path) -> bytes:
    """Reads a regular file that has no other hard links. The checks apply to the open file, not to its name."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Rejected(f"{path.name!r} is not a plain file: {error.strerror}") from error
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
        os.close(descriptor)
        raise Rejected(f"{path.name!r} is not a plain file, or has other hard links")
    with open(descriptor, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise Rejected(f"{path.name!r} is larger than {MOST_BYTES} bytes")
    return content


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Copies a pull request's templates as data.")
    parser.add_argument("--from", dest="received", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args(arguments)
    try:
        names = take(given.received, given.into)
    except (Rejected, OSError) as error:
        print(f"templates rejected: {error}", file=sys.stderr)
        return 1
    print(f"took {len(names)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
