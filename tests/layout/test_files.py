"""Each Rust file is part of a crate. Otherwise, no compiler reads it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from project.paths import PROJECT

#: The files in which a crate can begin, besides the files directly below `tests`.
_ROOTS = ("lib.rs", "main.rs", "build.rs", "suite.rs")


def undeclared(files: list[Path]) -> list[Path]:
    """The files that no `mod` item of their parent module declares."""
    return [file for file in files if not _is_root(file) and not _is_declared(file)]


def _is_root(file: Path) -> bool:
    return file.name in _ROOTS or (file.parent.name == "tests" and (file.parent.parent / "Cargo.toml").exists())


def _is_declared(file: Path) -> bool:
    folder, name = (file.parent.parent, file.parent.name) if file.name == "mod.rs" else (file.parent, file.stem)
    parents = [folder.with_suffix(".rs"), folder / "mod.rs", *filter(_is_root, folder.glob("*.rs"))]
    item = re.compile(rf"^\s*(pub(\(\w+\))? )?mod {name}\b", re.MULTILINE)
    return any(item.search(parent.read_text()) for parent in parents if parent.exists())


def test_each_rust_file_is_part_of_a_crate() -> None:
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=PROJECT, check=True, capture_output=True, text=True)
    files = [PROJECT / name for name in listed.stdout.split() if (PROJECT / name).exists()]

    assert len(files) > 500
    assert undeclared(files) == []


def test_a_file_without_a_mod_item_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\n// mod walls;\n")
    (tmp_path / "a.rs").write_text("pub struct A;\n")
    (tmp_path / "walls.rs").write_text("pub struct Wall;\n")

    assert undeclared(sorted(tmp_path.glob("*.rs"))) == [tmp_path / "walls.rs"]
