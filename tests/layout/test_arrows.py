"""There are no dependency cycles between crates, folders or modules.

A module and its own submodules count as one: `a.rs` may use `a/b.rs`, and `a/b.rs` may use `a.rs`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from project.paths import PROJECT
from tests.layout import rust, scripts
from tests.layout.graph import Graph, cycle, siblings

RUST_ROOTS = sorted([*(PROJECT / "crates").glob("*/src"), *(PROJECT / "lambdas").glob("*/src"), PROJECT / "bench/src"])


def neighbours(graph: Graph) -> list[str]:
    relative = {
        source.removeprefix(f"{PROJECT}/"): {target.removeprefix(f"{PROJECT}/") for target in targets}
        for source, targets in graph.items()
    }
    return cycle(siblings(relative))


def test_crates_have_no_dependency_cycle() -> None:
    command = ["cargo", "metadata", "--offline", "--no-deps", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=PROJECT, check=True, capture_output=True).stdout)
    graph = {
        package["name"]: {each["name"] for each in package["dependencies"] if each.get("path")}
        for package in metadata["packages"]
    }

    assert len(graph) > 10
    assert cycle(graph) == []


@pytest.mark.parametrize("root", RUST_ROOTS, ids=lambda root: str(root.relative_to(PROJECT)))
def test_rust_modules_have_no_import_cycle(root: Path) -> None:
    assert neighbours(rust.uses(root)) == []


def test_typescript_files_and_folders_have_no_import_cycle() -> None:
    graph = {
        source: targets
        for folder in ("infra", "tests/infra", "examples/cdk-app")
        for source, targets in scripts.typescript(PROJECT / folder).items()
    }

    assert sum(map(len, graph.values())) > 300
    assert cycle(graph) == []
    assert neighbours(graph) == []


def test_python_modules_and_packages_have_no_import_cycle() -> None:
    graph = {
        source: targets
        for folder in ("delivery", "local", "project", "smoke", "tests")
        for source, targets in scripts.python(PROJECT / folder, PROJECT).items()
    }

    assert sum(map(len, graph.values())) > 300
    assert cycle(graph) == []
    assert neighbours(graph) == []


def test_a_cycle_through_a_reexport_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\n")
    (tmp_path / "a.rs").write_text("mod inner;\npub(crate) use inner::{Inner as Part, Other};\n")
    (tmp_path / "a" / "inner.rs").write_text("pub struct Inner;\nfn f() { crate::b::run(\"crate::c\") }\n")
    (tmp_path / "b.rs").write_text("use crate::a::{Part};\n// use crate::a::Other;\n")

    graph = rust.uses(tmp_path)

    assert graph[str(tmp_path / "b.rs")] == {str(tmp_path / "a" / "inner.rs")}
    assert set(cycle(siblings(graph))) == {str(tmp_path / "a"), str(tmp_path / "b")}


def test_a_module_and_its_submodules_count_as_one() -> None:
    graph = {"x/a.rs": {"x/a/b.rs"}, "x/a/b.rs": {"x/a.rs", "x/c.rs"}, "x/c.rs": set[str]()}

    assert siblings(graph) == {"x/a": {"x/c"}}
    assert cycle(siblings(graph)) == []
