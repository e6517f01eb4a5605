"""Follows the table's stream: every change of every task, in commit order.

Only the stream has every transition with both images, in the order in which the table accepted them; function logs and
repeated reads don't. The emulator's stream has a single shard, so the order is total.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from local.contract import KEY
from local.queue import DeployedQueue
from local.waiting import now_ms

_POLL_SECONDS = 0.1
_PAGE = 1000
#: JSON size below which a page with fewer than `_PAGE` records is the end of the stream. Otherwise, the page would also
#: contain the next record: two images of up to 400 KB fit into the remaining 800 KB of the 1 MB limit.
_SMALL = 200_000
_PATIENCE_SECONDS = 30


@dataclass(frozen=True)
class Change:
    """One change of a task's item.

    `seen` is the time (this machine's clock, ms) at which the change was read from the stream,
    no more than a poll interval (0.1 s) after the commit. `image` is the item after the change, or before its deletion,
    as DynamoDB JSON.
    """

    position: int
    seen: int
    task_id: str
    before: str | None
    after: str | None
    image: dict[str, Any]

    def number(self, attribute: str) -> int | None:
        """A numeric attribute of the image; None if it is missing or has another type."""
        text = self.image.get(attribute, {}).get("N")
        return None if text is None else int(float(text))

    @property
    def is_insert(self) -> bool:
        return self.before is None

    @property
    def is_take(self) -> bool:
        return self.before == "PENDING" and self.after == "TAKEN"


class History:
    """Reads the stream in a thread, from the start until `close`."""

    def __init__(self, queue: DeployedQueue) -> None:
        self._streams = queue.client("dynamodbstreams")
        table = queue.client("dynamodb").describe_table(TableName=queue.table)["Table"]
        self._arn = table["LatestStreamArn"]
        #: The time (this machine's clock, ms) at which reading started.
        self.opened = now_ms()
        self._changes: list[Change] = []
        #: The numbers of the last read that started and of the last read that reached the end of the stream.
        self._began = self._reached_end = 0
        self._ended = False
        self._progress = threading.Condition()
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._follow, name="stream", daemon=True)
        self._thread.start()

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def changes(self) -> list[Change]:
        """All changes committed before the call, or before `close`.

        Waits for a read that starts after the call and reaches the end of the stream, which takes up to two poll
        intervals on an idle machine. Raises the error that stopped reading, if any.
        """
        with self._progress:
            last = self._began
            caught_up = self._progress.wait_for(
                lambda: self._reached_end > last or self._ended, _PATIENCE_SECONDS
            )
            if self._error is not None:
                raise self._error
            if not caught_up:
                raise TimeoutError(f"the stream was not read to its end in {_PATIENCE_SECONDS} s")
            return list(self._changes)

    def _follow(self) -> None:
        try:
            iterator, pause = self._first_iterator(), 0.0
            while not self._stop.wait(pause):
                with self._progress:
                    self._began += 1
                page = self._streams.get_records(ShardIterator=iterator, Limit=_PAGE)
                at_end = self._add(page["Records"])
                iterator, pause = page["NextShardIterator"], _POLL_SECONDS if at_end else 0.0
        except Exception as error:  # noqa: BLE001 - changes() raises it
            self._error = error
        finally:
            with self._progress:
                self._ended = True
                self._progress.notify_all()

    def _first_iterator(self) -> str:
        shards = self._streams.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        if len(shards) != 1:
            raise RuntimeError(f"the order of commits needs a single shard, not {len(shards)}")
        return self._streams.get_shard_iterator(
            StreamArn=self._arn, ShardId=shards[0]["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]

    def _add(self, records: list[dict[str, Any]]) -> bool:
        """Adds the changes from a page and returns whether the page is the end of the stream."""
        seen = now_ms()
        at_end = len(records) < _PAGE and len(json.dumps(records, default=str)) < _SMALL
        with self._progress:
            for record in records:
                change = _change(len(self._changes), seen, record["dynamodb"])
                if change is not None:
                    self._changes.append(change)
            if at_end:
                self._reached_end = self._began
                self._progress.notify_all()
        return at_end


def _change(position: int, seen: int, record: dict[str, Any]) -> Change | None:
    """Converts a stream record to a task change; None for the control item, which has no status."""
    old, new = record.get("OldImage") or {}, record.get("NewImage") or {}
    before = old.get("taskStatus", {}).get("S")
    after = new.get("taskStatus", {}).get("S")
    if before is None and after is None:
        return None
    return Change(position, seen, record["Keys"][KEY]["S"], before, after, new or old)
