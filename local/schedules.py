"""Cloud Control for the schedules of the emulator, whose Cloud Control knows only resources that it created itself.

`freshq doctor` reads a schedule with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ministack.core.responses import json_response
from ministack.services import cloudcontrol, scheduler

KIND = "AWS::Scheduler::Schedule"

Handler = Callable[[dict[str, Any]], Any]


def install() -> None:
    cloudcontrol._get_resource = with_schedules(cloudcontrol._get_resource)


def with_schedules(read: Handler) -> Handler:
    """A handler like `read` that also knows the schedules of the default group."""

    def reads(request: dict[str, Any]) -> Any:
        name = request.get("Identifier")
        schedule = scheduler._schedules.get(f"default/{name}")
        if request.get("TypeName") != KIND or schedule is None:
            return read(request)
        properties = json.dumps(schedule, default=str)
        return json_response(
            {"TypeName": KIND, "ResourceDescription": {"Identifier": name, "Properties": properties}}
        )

    return reads
