"""CloudWatch Logs Insights saved queries for the emulator, whose CloudFormation rejects them.

The emulator doesn't run queries, so a saved query only gets an id.
"""

from __future__ import annotations

import uuid
from typing import Any

from ministack.services.cloudformation import provisioners

KIND = "AWS::Logs::QueryDefinition"


def install() -> None:
    provisioners._RESOURCE_HANDLERS[KIND] = {"create": _create, "update": _update, "delete": _delete}


def _create(logical_id: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    if not properties.get("Name") or not properties.get("QueryString"):
        raise ValueError(f"{stack}: {logical_id} needs Name and QueryString")
    query_id = str(uuid.uuid4())
    return query_id, {"QueryDefinitionId": query_id}


def _update(
    query_id: str, _before: dict[str, Any], _after: dict[str, Any], _stack: str
) -> tuple[str, dict[str, Any]]:
    return query_id, {"QueryDefinitionId": query_id}


def _delete(_query_id: str, _properties: dict[str, Any]) -> None:
    """Does nothing, because the query was never stored."""
