"""A guard, and how it is broken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One place in the source."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True)
class Guard:
    """A guard and the change that breaks it."""

    name: str
    changes: tuple[Change, ...]


def one_change(name: str, file: str, find: str, replace: str) -> Guard:
    """A guard that stands in one place."""
    return Guard(name, (Change(file, find, replace),))
