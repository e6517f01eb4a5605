"""The sample events in tests/events, and records of new messages in the same format."""

from __future__ import annotations

import json
import uuid
from typing import Any

from local.waiting import now_ms
from project.paths import PROJECT


def event(name: str) -> Any:
    """An event from tests/events."""
    return json.loads((PROJECT / "tests" / "events" / f"{name}.json").read_text())


def sqs_record(
    name: str, body: Any, sent: int | None = None, attributes: dict[str, str] | None = None
) -> dict[str, Any]:
    """A copy of the event's record with another body (text or JSON), sent now or at `sent` (ms since the epoch)."""
    (record, *_) = event(name)["Records"]
    text = body if isinstance(body, str) else json.dumps(body)
    changed = record["attributes"] | {"SentTimestamp": str(sent or now_ms())} | (attributes or {})
    return record | {"messageId": str(uuid.uuid4()), "body": text, "attributes": changed}
