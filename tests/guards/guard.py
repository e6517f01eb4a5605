"""Defines a guard and the change that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """A guard, and a text replacement in one source file that breaks the guard."""

    name: str
    file: str
    find: str
    replace: str


def guards_of(changes: Mapping[str, Mapping[str, tuple[str, str]]]) -> tuple[Guard, ...]:
    """Returns the guards in `changes`, which maps a file and a guard name to the original text and its replacement."""
    return tuple(
        Guard(name, file, find, replace) for file, named in changes.items() for name, (find, replace) in named.items()
    )
