"""Waits for a condition, and reads the clock."""

from __future__ import annotations

import time
from typing import Callable


def wait_until(
    condition: Callable[[], bool], seconds: float, what: str, every: float = 0.2
) -> None:
    """Waits until `condition` holds. After `seconds`, raises `TimeoutError` with `what` in the message."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)


def now_ms() -> int:
    """This machine's clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
