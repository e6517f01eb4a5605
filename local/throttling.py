"""Limits inserts on the emulator, as the index partition of pending tasks does on AWS.

On AWS, this partition accepts 1,000 inserts per second, more than the emulator can handle. Storm tests therefore set a
lower limit: the table's maximum on-demand write throughput, of which the emulator here counts only inserts. It throttles
excess inserts like DynamoDB, and `ingest-tasks` must still write newest first.
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

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left, self._at = 0.0, float("-inf")

    def take(self, per_second: int) -> bool:
        """Counts one insert and returns whether it is within the limit."""
        now = self._clock()
        self._left = min(per_second, self._left + (now - self._at) * per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def install() -> None:
    """Patches ministack before this process starts it, to limit inserts into tables with a maximum write throughput."""
    inserts: dict[str, Inserts] = {}
    dynamodb._put_item = _limited(dynamodb._put_item, inserts)
    dynamodb._update_item = _limited(dynamodb._update_item, inserts)


def _limited(handler: Handler, inserts: dict[str, Inserts]) -> Handler:
    def limited(request: dict[str, Any]) -> tuple:
        table = request.get("TableName", "")
        limit = dynamodb._tables.get(table, {}).get("OnDemandThroughput", {}).get("MaxWriteRequestUnits", -1)
        is_insert = request.get("ConditionExpression", "").startswith(_INSERT)
        if limit > 0 and is_insert and not inserts.setdefault(table, Inserts()).take(limit):
            return error_response_json("ThrottlingException", "the partition of pending tasks is at its limit", 400)
        return handler(request)

    return limited
