"""Finds cycles in a directed graph."""

from __future__ import annotations

from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter

Graph = Mapping[str, Set[str]]


def cycle(graph: Graph) -> list[str]:
    """The nodes of one cycle, with the first node repeated at the end. Empty if there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def siblings(graph: Graph) -> dict[str, set[str]]:
    """The graph of the siblings in each folder or module. A sibling includes everything below it.

    Edges between a module and its own submodules are excluded, because they may use each other.
    """
    collapsed: dict[str, set[str]] = {}
    for source, targets in graph.items():
        for target in targets:
            here, there = _parts(source), _parts(target)
            common = 0
            while common < min(len(here), len(there)) and here[common] == there[common]:
                common += 1
            if common < min(len(here), len(there)):
                collapsed.setdefault("/".join(here[: common + 1]), set()).add("/".join(there[: common + 1]))
    return collapsed


def _parts(file: str) -> list[str]:
    """The module path of a file. Both `a/b.rs` and `a/b/mod.rs` are the module of the folder `a/b`."""
    parts = file.rsplit(".", 1)[0].split("/")
    return parts[:-1] if parts[-1] in ("mod", "lib", "main", "__init__") else parts
