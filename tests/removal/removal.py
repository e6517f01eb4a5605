"""Removes permissions one at a time and runs the probes without them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from local.decisions import Decision, Decisions
from local.stack import DeployedStack, InvocationFailed, changed
from tests.removal.permissions import Permission, Role
from tests.removal.probe import PROCESS_ENDED, Probe, Unmet


class BrokenProbe(RuntimeError):
    """Raised if a probe fails with every permission, or for a reason other than the removed permission."""


@dataclass(frozen=True)
class Verdict:
    function: str
    permission: Permission
    probe: str | None
    #: The duration of the probe without the permission.
    seconds: float = 0.0


def examine(
    stack: DeployedStack,
    decisions: Decisions,
    probes: Sequence[Probe],
    only: Collection[Permission] | None = None,
) -> Iterator[Verdict]:
    """Yields a verdict on every permission, or only on those in `only`, of every function with probes.

    Restores each permission afterward. Raises `BrokenProbe`.
    """
    for function in dict.fromkeys(probe.function for probe in probes):
        role = Role(stack, function)
        left = [each for each in role.permissions if only is None or each in only]
        before = stack.environment(function)
        try:
            for probe in (probe for probe in probes if probe.function == function):
                _give(stack, function, changed(before, function, probe.environment, probe.settings))
                used = _with_everything(probe, role, decisions)
                for permission in [each for each in left if (each.action, each.resource) in used]:
                    verdict = _without(permission, probe, role, decisions)
                    if verdict.probe is not None:  # Otherwise, another probe can notice the removal.
                        left.remove(permission)
                        yield verdict
        finally:
            _give(stack, function, before)
        for permission in left:
            yield Verdict(function, permission, None)


def _with_everything(probe: Probe, role: Role, decisions: Decisions) -> set[tuple[str, str]]:
    """Runs a probe with every permission and returns the used actions with their resources."""
    decisions.since()
    try:
        try:
            probe.run()
        except InvocationFailed as error:
            if PROCESS_ENDED not in str(error):
                raise
            probe.run()
    except (Unmet, InvocationFailed) as error:
        raise BrokenProbe(
            f"{probe.function} {probe.what}: fails with every permission: {error};"
            f" decided: {[str(decision) for decision in _of(role, decisions)]}"
        ) from error
    decided = _of(role, decisions)
    if rejected := [str(decision) for decision in decided if not decision.allowed]:
        raise BrokenProbe(f"{probe.function} {probe.what}: denied with every permission: {rejected}")
    return {(decision.action, decision.resource) for decision in decided}


def _without(permission: Permission, probe: Probe, role: Role, decisions: Decisions) -> Verdict:
    """Runs a probe without one permission. IAM must deny exactly this permission."""
    began = time.monotonic()
    with role.without(permission):
        try:
            probe.run()
            noticed = False
        except (Unmet, InvocationFailed):
            noticed = True
    decided = _of(role, decisions)
    rejected = {(decision.action, decision.resource) for decision in decided if not decision.allowed}
    if rejected != {(permission.action, permission.resource)}:
        raise BrokenProbe(
            f"{probe.function} {probe.what}: without {permission}, IAM denied: {sorted(rejected)}"
        )
    seconds = time.monotonic() - began
    return Verdict(probe.function, permission, probe.what if noticed else None, seconds)


def _of(role: Role, decisions: Decisions) -> list[Decision]:
    return [decision for decision in decisions.since() if decision.role == role.name]


def _give(stack: DeployedStack, function: str, variables: dict[str, str]) -> None:
    """Sets a function's variables unless they already have these values, because a change stops its processes."""
    if stack.environment(function) != variables:
        stack.replace_environment(function, variables)
