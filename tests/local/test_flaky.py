"""`make flaky E2E=1` counts the runs in which a test failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import flaky

EVERY_OTHER_TIME = """
from pathlib import Path

def test_holds(): pass

def test_is_flaky():
    ran = Path({file!r})
    ran.write_text(ran.read_text() + "x")
    assert len(ran.read_text()) % 2
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flaky, "STATE", tmp_path)


def test_each_test_that_failed_is_listed_with_its_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    ran.write_text("")
    tests = tmp_path / "test_sometimes.py"
    tests.write_text(EVERY_OTHER_TIME.format(file=str(ran)))
    assert flaky.main(4, str(tests)) == 1
    printed = capfd.readouterr().out
    assert "failed in 2 of 4 runs: " in printed and "::test_is_flaky" in printed
    assert "::test_holds" not in printed.split("failed in")[1]
    assert "4 runs, 1 tests failed at least once" in printed


def test_a_run_that_finds_no_test_is_a_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert flaky.main(1, str(tmp_path / "test_nothing.py")) == 1
    assert "pytest itself ended with code" in capfd.readouterr().out


def test_runs_without_a_failure_have_exit_code_0(tmp_path: Path) -> None:
    (tmp_path / "test_fine.py").write_text("def test_holds(): pass\n")
    assert flaky.main(2, str(tmp_path / "test_fine.py")) == 0
