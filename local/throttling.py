"""Limits inserts on the emulator, as the index partition of pending tasks does on AWS.

On AWS, this partition accepts 1,000 inserts per second, more than the emulator can handle. Storm tests therefore set a
lower limit. The emulator then throttles excess inserts like DynamoDB, and `ingest-tasks` must still write newest first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ministack.core.responses import error_response_json
from ministack.services import dynamodb

#: Prefix of the condition expression in each insert of a task.
_INSERT = "attribute_not_exists(taskId)"

Handler = Callable[[dict[str, Any]], tuple]


class Inserts:
    """A limit on inserts per second. Unused inserts remain available for one second."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = self._left = per_second
        self._clock = clock
        self._at = clock()

    def take(self) -> bool:
        """Counts one insert and returns whether it is within the limit."""
        now = self._clock()
        self._left = min(self._per_second, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def install(tables: str, per_second: float) -> None:
    """Patches ministack before this process starts it, to limit inserts into tables whose names start with `tables`."""
    inserts = Inserts(per_second)
    dynamodb._put_item = _limited(dynamodb._put_item, tables, inserts)
    dynamodb._update_item = _limited(dynamodb._update_item, tables, inserts)


def _limited(handler: Handler, tables: str, inserts: Inserts) -> Handler:
    def limited(request: dict[str, Any]) -> tuple:
        is_insert = request.get("ConditionExpression", "").startswith(_INSERT)
        if is_insert and request["TableName"].startswith(tables) and not inserts.take():
            return error_response_json("ThrottlingException", "the partition of pending tasks is at its limit", 400)
        return handler(request)

    return limited
