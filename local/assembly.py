"""Reads a stack's template from the output of ``cdk synth``, and selects its resources by type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator


class AssemblyError(RuntimeError):
    """Raised if the cloud assembly is missing or doesn't contain the expected stack."""


@dataclass(frozen=True)
class Resource:
    logical_id: str
    type: str
    properties: dict[str, Any]
    attributes: dict[str, Any]

    @property
    def is_retained(self) -> bool:
        """Whether CloudFormation retains the resource when the stack is deleted."""
        return str(self.attributes.get("DeletionPolicy", "")).startswith("Retain")

    @property
    def is_protected(self) -> bool:
        """Whether the service itself rejects the resource's deletion."""
        protected = self.properties.get("DeletionProtectionEnabled", False)
        return protected is True or protected == "true"


@dataclass(frozen=True)
class Assembly:
    directory: Path
    stack: str
    template: dict[str, Any]

    def resources(self, *types: str) -> Iterator[Resource]:
        for logical_id, body in self.template.get("Resources", {}).items():
            if not types or body["Type"] in types:
                yield Resource(logical_id, body["Type"], body.get("Properties", {}), body)


def read(directory: Path, stack: str) -> Assembly:
    path = directory / f"{stack}.template.json"
    if not path.exists():
        raise AssemblyError(f"{path} is missing: synthesize it first (`make synth`)")
    return Assembly(directory, stack, json.loads(path.read_text()))
