"""A probe: it makes a function do one thing that the function must be able to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from local.stack import DeployedStack


#: The error of an invocation whose process the emulator ended because the function was changed.
PROCESS_ENDED = "Runtime exited before returning a response"


class Unmet(RuntimeError):
    """A function did not do what the probe requires; the message has its response."""


@dataclass(frozen=True)
class Probe:
    """Makes a function do something, and raises an error if it does not.

    `run` raises `Unmet`, or `InvocationFailed` if the function returns an error.
    """

    function: str
    what: str
    run: Callable[[], None]
    #: Variables of the function during the probe.
    environment: dict[str, str] = field(default_factory=dict)
    #: Settings of the function during the probe.
    settings: dict[str, Any] = field(default_factory=dict)


def demand(holds: bool, said: object) -> None:
    """Raise `Unmet` with the message `said`, unless `holds`."""
    if not holds:
        raise Unmet(str(said))


def still(stack: DeployedStack) -> None:
    """Delete all event source mappings and subscriptions, so that only probes invoke functions."""
    functions, sns = stack.client("lambda"), stack.client("sns")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.delete_event_source_mapping(UUID=mapping["UUID"])
    for subscription in sns.list_subscriptions()["Subscriptions"]:
        sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])
