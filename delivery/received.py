#!/usr/bin/env python3
"""Checks the templates that a pull request's own code wrote, and copies them as data.

Uses only the standard library: the jobs with rights run this file from the base.

    received.py --from FOLDER --into FOLDER

The first FOLDER is a download outside the checkout. Only plain files NAME.json are copied, into a folder that does not
exist yet. Any other entry rejects the whole folder, because the job `synth` does not write such an entry.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from pathlib import Path

#: The names of the files that the job `synth` writes: templates and manifests.
NAME = re.compile(r"[\w.-]+\.json", re.ASCII)
#: CloudFormation takes templates of up to 1 MB; a manifest or a construct tree is larger.
MOST_BYTES = 8 * 1024 * 1024
#: For three environments, `synth` writes about twenty files.
MOST_FILES = 100


class Rejected(RuntimeError):
    """The folder has an entry that must not be copied; the message names it."""


def take(received: Path, into: Path) -> list[str]:
    """Copy the templates in `received` to the new folder `into`; returns their names. Raises `Rejected`."""
    if os.path.lexists(into):
        raise Rejected(f"{into} exists already; templates are copied into a new folder only")
    contents = {name: _read(received / name) for name in _names(received)}
    into.mkdir(parents=True)
    for name, content in contents.items():
        (into / name).write_bytes(content)
    return list(contents)


def _names(received: Path) -> list[str]:
    """The entries of the folder, all of the form `NAME`. No link is followed."""
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
    """The content of a plain file without other hard links. The checks are on the open file, not on its name."""
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
