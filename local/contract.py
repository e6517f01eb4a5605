"""The names shared by every language, read from ``tests/contract.json``."""

from __future__ import annotations

import json

from local.paths import PROJECT

_CONTRACT = json.loads((PROJECT / "tests" / "contract.json").read_text())

#: The table's key attribute.
KEY: str = _CONTRACT["table"]["key"]
#: The index by status and creation time.
INDEX: str = _CONTRACT["table"]["index"]
#: The key of the control item, which is no task.
CONTROL_ITEM: str = _CONTRACT["table"]["controlItem"]
#: Every status that a task can have.
STATUSES: list[str] = _CONTRACT["table"]["statuses"]
#: The outputs that the stack promises.
OUTPUTS: list[str] = _CONTRACT["outputs"]
