"""Cloud Control for the emulator, whose Cloud Control knows only the resources that it created itself.

`freshq doctor` uses it to read schedules, inline policies and event buses. Other types are reported as unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ministack.core.responses import error_response_json, json_response
from ministack.services import cloudcontrol, eventbridge, iam, scheduler


def install() -> None:
    cloudcontrol._get_resource = get_resource


def get_resource(request: dict[str, Any]) -> Any:
    kind, identifier = request["TypeName"], request["Identifier"]
    read = READS.get(kind)
    if read is None:
        return error_response_json("TypeNotFoundException", f"{kind} is not supported", 400)
    properties = read(identifier)
    if properties is None:
        return error_response_json("ResourceNotFoundException", f"{kind} {identifier} was not found", 400)
    described = {"Identifier": identifier, "Properties": json.dumps(properties, default=str)}
    return json_response({"TypeName": kind, "ResourceDescription": described})


def _role_policy(identifier: str) -> dict[str, Any] | None:
    name, _, role_name = identifier.partition("|")
    role = iam._roles.get(role_name) or {}
    document = role.get("InlinePolicies", {}).get(name)
    if document is None:
        return None
    document = json.loads(document) if isinstance(document, str) else document
    return {"PolicyName": name, "RoleName": role_name, "PolicyDocument": document}


#: Functions that read a resource's properties by its identifier, per resource type.
READS: dict[str, Callable[[str], dict[str, Any] | None]] = {
    "AWS::Scheduler::Schedule": lambda name: scheduler._schedules.get(f"default/{name}"),
    "AWS::IAM::RolePolicy": _role_policy,
    "AWS::Events::EventBus": lambda name: eventbridge._event_buses.get(name),
}
