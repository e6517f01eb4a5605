"""Reads the stacks, accounts, regions and code folders for a deployment from the output of ``cdk synth``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.assembly import AssemblyError


@dataclass(frozen=True)
class Stack:
    """One stack of a cloud assembly."""

    #: The assembly's folder.
    directory: Path
    name: str
    #: Region of the stack; `None` means the current region.
    region: str | None

    @property
    def account(self) -> str | None:
        """Account of the stack; `None` means the account of the current credentials."""
        account = self._artifact()["environment"].removeprefix("aws://").split("/")[0]
        return None if account == "unknown-account" else account

    @property
    def protected(self) -> bool:
        """Whether the stack has termination protection, as in staging and prod."""
        return bool(self._artifact().get("properties", {}).get("terminationProtection", False))

    def bootstrap(self) -> tuple[str, int] | None:
        """The parameter with the CDK bootstrap version, and the minimum version that the stack requires, if any."""
        properties = self._artifact().get("properties", {})
        version = properties.get("requiresBootstrapStackVersion")
        parameter = properties.get("bootstrapStackVersionSsmParameter")
        return None if version is None or parameter is None else (parameter, version)

    def template(self) -> dict[str, Any]:
        return json.loads((self.directory / f"{self.name}.template.json").read_text())

    def code_folders(self) -> Iterator[Path]:
        """The folders that contain the code of the stack's functions."""
        assets = json.loads((self.directory / f"{self.name}.assets.json").read_text())
        keys = {
            resource["Properties"]["Code"]["S3Key"].removesuffix(".zip")
            for resource in self.template()["Resources"].values()
            if resource["Type"] == "AWS::Lambda::Function"
        }
        for key in sorted(keys):
            source = assets["files"].get(key, {}).get("source", {})
            if "path" not in source:
                raise AssemblyError(f"{self.name}: the code {key} is not in the assembly")
            yield self.directory / source["path"]

    def _artifact(self) -> dict[str, Any]:
        return json.loads((self.directory / "manifest.json").read_text())["artifacts"][self.name]


def stacks(directory: Path, *names: str) -> list[Stack]:
    """The stacks in the assembly in `directory`: the named stacks, or all. Raises `AssemblyError` if one is missing."""
    manifest = directory / "manifest.json"
    if not manifest.exists():
        raise AssemblyError(f"{manifest} is missing: synthesize it first (`make synth`)")
    artifacts = json.loads(manifest.read_text())["artifacts"]
    found = {
        name: Stack(directory, name, _region(artifact["environment"]))
        for name, artifact in artifacts.items()
        if artifact["type"] == "aws:cloudformation:stack"
    }
    missing = [name for name in names if name not in found]
    if missing:
        raise AssemblyError(
            f"{directory} has no stack {', '.join(missing)}; it has {', '.join(found) or 'none'}"
        )
    return [found[name] for name in names or sorted(found)]


def _region(environment: str) -> str | None:
    region = environment.rsplit("/", 1)[-1]
    return None if region == "unknown-region" else region
