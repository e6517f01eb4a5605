"""A guard, and the changes that break it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A replacement of a text in one place of the sources."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True)
class Guard:
    """A guard and the changes that break it."""

    name: str
    changes: tuple[Change, ...]


def one_change(name: str, file: str, find: str, replace: str) -> Guard:
    return Guard(name, (Change(file, find, replace),))
