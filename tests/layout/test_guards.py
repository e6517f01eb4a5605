"""Each guard's text is in the sources, so `make guards` breaks the intended place."""

from __future__ import annotations

from pathlib import Path

from local.paths import PROJECT
from tests.guards.__main__ import ALL_GUARDS, NEAREST, misfits, nearest
from tests.guards.guard import Change, Guard


def test_each_guarded_text_is_in_its_file_exactly_once() -> None:
    assert [fault for guard in ALL_GUARDS for fault in misfits(guard, PROJECT)] == []


def test_a_missing_file_a_missing_text_and_a_repeated_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text("let x = 1;\nlet y = 2;\nlet y = 2;\n")
    guard = Guard(
        "bound",
        (
            Change("gone.rs", "let x", "let z"),
            Change("a.rs", "let w = 1;", "let w = 2;"),
            Change("a.rs", "let y = 2;", "let y = 3;"),
        ),
    )

    missing, absent, repeated = misfits(guard, tmp_path)

    assert missing == "bound: gone.rs does not exist; adapt tests/guards to the source"
    assert "a.rs contains its text 0 times" in absent
    assert "a.rs contains its text 2 times" in repeated and "let y = 2;" in repeated


def test_the_changes_of_one_guard_apply_in_sequence(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text("one();\n")
    guard = Guard("steps", (Change("a.rs", "one", "two"), Change("a.rs", "two", "three")))

    assert misfits(guard, tmp_path) == []
    assert (tmp_path / "a.rs").read_text() == "one();\n"


def test_the_tests_of_the_broken_crate_run_first() -> None:
    packages = {path.parent.relative_to(PROJECT).as_posix(): path for path in PROJECT.glob("*/*/Cargo.toml")}
    assert all(folder.rstrip("/") in packages for folder in NEAREST)
    broken = Guard("both", (Change("crates/agent-queue/src/a.rs", "a", "b"),))
    assert nearest(broken) == ["agent-queue", "agents"]
    assert nearest(Guard("none", (Change("lambdas/trigger/src/main.rs", "a", "b"),))) == []
    assert all(nearest(guard) for guard in ALL_GUARDS if guard.changes[0].file.startswith("crates/lifo-queue/"))
