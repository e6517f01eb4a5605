"""A probe: one thing that a function must be able to do, asked of it by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from local.stack import DeployedStack


#: What the emulator says of an invocation whose process it ended, because the function was changed.
PROCESS_ENDED = "Runtime exited before returning a response"


class Unmet(RuntimeError):
    """A function did not do what the probe asked for; the message says what came instead."""


@dataclass(frozen=True)
class Probe:
    """Asks a function for something, and raises if it does not come.

    `run` raises `Unmet`, or whatever an invocation raises that ends with an error.
    """

    function: str
    what: str
    run: Callable[[], None]
    #: Variables that the function has while it is asked.
    environment: dict[str, str] = field(default_factory=dict)
    #: Settings that the function has while it is asked.
    settings: dict[str, Any] = field(default_factory=dict)


def demand(holds: bool, said: object) -> None:
    """Raise `Unmet` with what came instead, unless it `holds`."""
    if not holds:
        raise Unmet(str(said))


def still(stack: DeployedStack) -> None:
    """Let nothing invoke the functions of a stack but the probes: no schedule, stream, queue or topic."""
    scheduler, functions, sns = (stack.client(name) for name in ("scheduler", "lambda", "sns"))
    for schedule in scheduler.list_schedules()["Schedules"]:
        scheduler.delete_schedule(Name=schedule["Name"], GroupName=schedule["GroupName"])
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.delete_event_source_mapping(UUID=mapping["UUID"])
    for subscription in sns.list_subscriptions()["Subscriptions"]:
        sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])
