"""The dependency graph of Rust files, from the paths in the sources.

A path is a dependency on the file that defines its item, because re-exports (`pub use`) are followed. Macros and glob
imports are dependencies on the module that they name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

Module = tuple[str, ...]

_NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""", re.DOTALL
)
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
_USE = re.compile(r"^[ \t]*(?P<visible>pub(?:\([^)]*\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
_PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")


@dataclass
class Source:
    """One module: its file, the paths that it uses, and the names that it re-exports."""

    file: Path
    used: set[Module] = field(default_factory=set)
    exported: dict[str, Module] = field(default_factory=dict)
    globs: set[Module] = field(default_factory=set)


def uses(root: Path) -> dict[str, set[str]]:
    """The files below a crate's `src`, each with the files whose items it uses."""
    modules = {_module(file.relative_to(root)): file for file in sorted(root.rglob("*.rs"))}
    sources = {module: _read(module, file, set(modules)) for module, file in modules.items()}
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        targets = {_defining(path, sources) for path in source.used} - {module, None}
        graph[str(source.file)] = {str(sources[target].file) for target in targets if target is not None}
    return graph


def _module(file: Path) -> Module:
    parts = file.with_suffix("").parts
    return () if parts in (("lib",), ("main",)) else parts[:-1] if parts[-1] == "mod" else parts


def _read(module: Module, file: Path, known: set[Module]) -> Source:
    text = _TESTS.sub("", _NOISE.sub(lambda found: " " if found[0].startswith("/") else '""', file.read_text()))
    source = Source(file)

    def resolve(names: list[str]) -> Module | None:
        """The path from the crate root; None for a path into another crate."""
        here, first = list(module), names[0]
        if first == "crate":
            return tuple(names[1:])
        if first not in ("self", "super"):
            return tuple(here + names) if (*module, first) in known else None
        rest = names[1:] if first == "self" else names
        while rest and rest[0] == "super":
            here, rest = here[:-1], rest[1:]
        return tuple(here + rest)

    for found in _USE.finditer(text):
        for names, alias in _leaves(found["tree"].strip()):
            path = resolve(names)
            if path is None:
                continue
            if alias == "*":
                source.globs.add(path[:-1])
            elif found["visible"]:
                source.exported[alias] = path
            source.used.add(path)
    for found in _PATH.finditer(_USE.sub("", text)):
        path = resolve(found[0].split("::"))
        if path:
            source.used.add(path)
    return source


def _leaves(tree: str) -> list[tuple[list[str], str]]:
    """The paths of a use tree, each with the name under which it is imported."""
    if "{" not in tree:
        path, _, alias = tree.partition(" as ")
        names = [name.strip() for name in path.strip().split("::")]
        if names[-1] == "self":
            names.pop()
        return [(names, alias.strip() or names[-1])]
    prefix, _, rest = tree.partition("{")
    inner = rest[: rest.rindex("}")]
    parts, depth, begin = [], 0, 0
    for position, character in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(inner[begin:position].strip())
            begin = position + 1
    return [leaf for part in parts if part for leaf in _leaves(prefix.strip() + part)]


def _defining(path: Module, sources: dict[Module, Source], depth: int = 0) -> Module | None:
    """The module that defines the item at `path`, behind any re-exports."""
    for length in range(len(path), -1, -1):
        if path[:length] in sources:
            break
    else:
        return None
    module = path[:length]
    if length == len(path) or depth > 8:
        return module
    exported = sources[module].exported.get(path[length])
    if exported is not None and exported != path:
        return _defining((*exported, *path[length + 1 :]), sources, depth + 1)
    return module
