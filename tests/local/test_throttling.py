"""The limit on inserts for the emulator in storm tests."""

from __future__ import annotations

from local.throttling import Inserts


def test_unused_inserts_are_saved_for_a_second() -> None:
    now = 0.0
    inserts = Inserts(clock=lambda: now)
    assert [inserts.take(4) for _ in range(5)] == [True] * 4 + [False]
    now = 0.25
    assert [inserts.take(4) for _ in range(2)] == [True, False]
    now = 60
    assert [inserts.take(4) for _ in range(5)] == [True] * 4 + [False]
