"""The import graph of TypeScript or Python files."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

_IMPORT = re.compile(r"""^(?:import|export|\}) ?[^'";]*['"](?P<path>\.[^'"]*)['"]""", re.MULTILINE)


def typescript(folder: Path) -> dict[str, set[str]]:
    """The TypeScript files below a folder, each with the files that it imports, including type imports."""
    return {
        str(file): {
            os.path.normpath(file.parent / found["path"]).removesuffix(".ts") + ".ts"
            for found in _IMPORT.finditer(file.read_text())
        }
        for file in sorted(folder.rglob("*.ts"))
        if "node_modules" not in file.parts
    }


def python(folder: Path, root: Path) -> dict[str, set[str]]:
    """The Python files below a folder of `root`, each with the files of `root` that it imports."""
    return {
        str(file): {
            str(target)
            for name in _imported(ast.parse(file.read_text()))
            for target in (root / name.replace(".", "/")).parent.glob(f"{name.rsplit('.', 1)[-1]}.py")
        }
        for file in sorted(folder.rglob("*.py"))
    }


def _imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names
