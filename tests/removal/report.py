"""Formats the verdicts as a table in which construct paths identify the resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from local.assembly import Assembly
from local.stack import DeployedStack
from tests.removal.permissions import Permission
from tests.removal.removal import Verdict
from tests.removal.unproven import reason_for

_HEAD = """# Removed permissions

Written by `make iam-soak`. On a local AWS that enforces IAM, it removes each permission of each function of dev from its role in turn. A
probe uses the function. The probe must succeed with all permissions and fail without this one, and the local AWS must have rejected this
action and no other. The permissions of each function: [permissions](../reference/iam.md).

"""


@dataclass(frozen=True)
class Row:
    """A function's permission, and the probe that noticed its removal, or the reason why no probe can."""

    function: str
    action: str
    resource: str
    noticed_by: str | None
    reason: str | None
    seconds: float
    #: Whether functions have the permission only with certain queue options.
    is_optional: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether the removal was noticed or has a reason why it can't be noticed."""
        return self.noticed_by is not None or self.reason is not None

    def __str__(self) -> str:
        said = f"noticed: {self.noticed_by} ({self.seconds:.1f} s)" if self.noticed_by else self.reason
        return f"{self.function}: {self.action} on {self.resource}: {said or 'NOT NOTICED'}"


def row(verdict: Verdict, stack: DeployedStack, template: Assembly) -> Row:
    """The report row for a verdict. The row identifies the resource by its construct path in the stack."""
    permission = verdict.permission
    path = _path(permission, stack, template)
    reason = None if verdict.probe else reason_for(permission, path)
    return Row(verdict.function, permission.action, path, verdict.probe, reason, verdict.seconds)


def optional_row(verdict: Verdict, resource: str) -> Row:
    """The report row for a verdict on a permission that a function has only with certain options."""
    return Row(
        verdict.function, verdict.permission.action, resource, verdict.probe, None, verdict.seconds, True
    )


def document(rows: Sequence[Row]) -> str:
    """The full content of `docs/internals/iam-removal.md`."""
    optional = [found for found in rows if found.is_optional]
    noticed = [found for found in rows if found.noticed_by and not found.is_optional]
    unproven = [found for found in rows if not found.noticed_by and not found.is_optional]
    return "\n".join(
        [
            _HEAD + f"{len(noticed)} permissions are noticed:",
            "",
            "| without | on | the function | no longer |",
            "|---|---|---|---|",
            *(f"| `{r.action}` | `{r.resource}` | `{r.function}` | {r.noticed_by} |" for r in noticed),
            "",
            "With a runner or an event bus that dev does not use:",
            "",
            "| without | on | the function | no longer |",
            "|---|---|---|---|",
            *(f"| `{r.action}` | {r.resource} | its `{r.function}` | {r.noticed_by} |" for r in optional),
            "",
            f"{len(unproven)} are used by AWS itself, without a check by the local AWS. Tests of the template compare them with the",
            "mappings, log groups and destinations that need them:",
            "",
            "| permission | on | function | why it cannot be shown |",
            "|---|---|---|---|",
            *(f"| `{r.action}` | `{r.resource}` | `{r.function}` | {r.reason} |" for r in unproven),
            "",
        ]
    )


def _path(permission: Permission, stack: DeployedStack, template: Assembly) -> str:
    """The construct path for an ARN, followed by the rest of the ARN after the resource name."""
    if permission.resource == "*":
        return "*"
    named = permission.resource.split(":", 5)[-1].removeprefix("table/").removeprefix("log-group:")
    for resource in template.resources():
        physical = _name(stack.physical_id(resource.logical_id))
        if physical and (named == physical or named.startswith((f"{physical}/", f"{physical}:"))):
            path = resource.attributes["Metadata"]["aws:cdk:path"].removesuffix("/Resource")
            below = named.removeprefix(physical)
            # The name of a table's stream is a timestamp. `:*` after a log group represents all its streams.
            below = "/stream" if below.startswith("/stream/") else below.removesuffix(":*")
            return path.split("/", 1)[1].removeprefix("queue/") + below
    raise LookupError(f"{permission.resource} is not in the template of {template.stack}")


def _name(physical: str) -> str:
    """The name of a resource, from a physical id that is a name, a URL or an ARN."""
    if physical.startswith("http"):
        return physical.rsplit("/", 1)[-1]
    return physical.rsplit(":", 1)[-1] if physical.startswith("arn:") else physical
