"""What `make guards` breaks and when: the sources contain each guard, and the shards of one night cover all guards."""

import argparse
import subprocess
from pathlib import Path

import pytest

from tests.guards.__main__ import ALL_GUARDS, main, misfits, run_tests, shard

ROOT = Path(__file__).parents[2]


def test_each_guard_has_its_text_in_the_sources_exactly_once() -> None:
    assert [fault for guard in ALL_GUARDS for fault in misfits(guard, ROOT)] == []


def test_shards_divide_the_guards() -> None:
    parts = [ALL_GUARDS[first::step] for first, step in (shard(f"{number}/7") for number in range(7))]
    assert sorted(guard.name for part in parts for guard in part) == sorted(guard.name for guard in ALL_GUARDS)


@pytest.mark.parametrize("text", ["7/7", "1", "a/b", "0/0"])
def test_an_invalid_shard_is_rejected(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write K/N"):
        shard(text)


def test_no_guard_is_broken_if_a_test_already_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.guards.__main__.notice", lambda *_: (True, "agents::intake some_test"))
    monkeypatch.setattr("sys.argv", ["guards", "--target", "any", "--root", str(tmp_path)])
    with pytest.raises(SystemExit, match="although no guard is broken: agents::intake some_test"):
        main()


def test_a_verdict_says_that_a_test_timed_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    output = """\
     TIMEOUT [ 180.003s] (  7/121) agents::intake never_ends
        FAIL [   0.012s] (  8/121) agents::intake ends_wrongly
        PASS [   0.010s] (  9/121) agents::intake ends_well
"""
    run = subprocess.CompletedProcess([], 100, "", output)
    monkeypatch.setattr("tests.guards.__main__.captured", lambda *_, **__: run)
    assert run_tests([], tmp_path) == (True, "TIMEOUT agents::intake never_ends, agents::intake ends_wrongly")
