"""Names shared by the Rust, TypeScript and Python code, read from ``tests/contract.json``."""

from __future__ import annotations

import json
from typing import Any

from project.paths import PROJECT

_CONTRACT = json.loads((PROJECT / "tests" / "contract.json").read_text())

#: The table's key attribute.
KEY: str = _CONTRACT["table"]["key"]
#: The index by status and creation time.
INDEX: str = _CONTRACT["table"]["index"]
#: The key of the control item, which is not a task.
CONTROL_ITEM: str = _CONTRACT["table"]["controlItem"]
#: Every status that a task can have.
STATUSES: list[str] = _CONTRACT["table"]["statuses"]
#: The filter pattern for stream records of finished tasks.
ENDS_PATTERN: dict[str, Any] = _CONTRACT["endsPattern"]
#: Names of the task queue's functions.
FUNCTIONS: list[str] = list(_CONTRACT["environment"])

_AGENT_QUEUE = _CONTRACT["agentQueue"]

#: The partition key of the agent table.
AGENT_PK: str = _AGENT_QUEUE["table"]["partitionKey"]
#: The sort key of the agent table.
AGENT_SK: str = _AGENT_QUEUE["table"]["sortKey"]
#: Names of the functions of the agents' queue.
AGENT_FUNCTIONS: list[str] = list(_AGENT_QUEUE["environment"])
#: The environment variables that each function of both queues reads, in addition to its settings.
ENVIRONMENT: dict[str, list[str]] = _CONTRACT["environment"] | _AGENT_QUEUE["environment"]

#: The fields of every log line. Invocation fields start with `span.`.
LOG_FIELDS: list[str] = _CONTRACT["logFields"]
#: The log lines of the task queue's functions, by message: level, functions and additional fields.
LOG_LINES: dict[str, dict[str, Any]] = _CONTRACT["logLines"]
#: The log lines of the agents' queue's functions, in the same format.
AGENT_LOG_LINES: dict[str, dict[str, Any]] = _AGENT_QUEUE["logLines"]
