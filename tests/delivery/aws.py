"""Provides a local AWS and small assemblies for tests of the deployment steps."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from delivery.assembly import Stack
from local import emulator

_CONFIG = Config(retries={"total_max_attempts": 1})
_SECONDS = 60


class Aws:
    def __init__(self, running: emulator.Emulator) -> None:
        self.endpoint = running.endpoint

    def client(self, service: str, region: str | None = None) -> Any:
        session = boto3.Session(
            aws_access_key_id=emulator.ACCOUNT, aws_secret_access_key="test", region_name=region or emulator.REGION
        )
        return session.client(service, endpoint_url=self.endpoint, config=_CONFIG)

    def create(self, name: str, template: dict[str, Any], protected: bool = False) -> str:
        """Creates a stack, waits until no operation of the stack is running, and returns its state."""
        self.client("cloudformation").create_stack(
            StackName=name, TemplateBody=json.dumps(template), EnableTerminationProtection=protected
        )
        return self.settled(name)

    def settled(self, name: str) -> str:
        """Waits until no operation of a stack is running, and returns the stack's state."""
        deadline = time.monotonic() + _SECONDS
        while (status := self.status(name)).endswith("_IN_PROGRESS"):
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} is {status} after {_SECONDS} s")
            time.sleep(0.1)
        return status

    def status(self, name: str) -> str:
        return self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]


@contextmanager
def running(directory: Path) -> Iterator[Aws]:
    with emulator.start(directory, schedules=False) as started:
        yield Aws(started)


def queue(**properties: Any) -> dict[str, Any]:
    """A resource that is created immediately."""
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def never(seconds: int) -> dict[str, Any]:
    """Resources whose creation fails after `seconds` because a wait condition gets no signal."""
    return {
        "handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        "awaited": {
            "Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "handle"}, "Timeout": str(seconds)},
        },
    }


def write_stack(
    folder: Path,
    name: str,
    resources: dict[str, Any],
    environment: str = "aws://unknown-account/unknown-region",
    **properties: Any,
) -> Stack:
    """Writes an assembly with one stack, in the format that the CDK CLI reads."""
    folder.mkdir(parents=True, exist_ok=True)
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": environment,
        "properties": {"templateFile": f"{name}.template.json", **properties},
    }
    (folder / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": {name: artifact}}))
    (folder / f"{name}.template.json").write_text(json.dumps({"Resources": resources}))
    (folder / f"{name}.assets.json").write_text(json.dumps({"version": "36.0.0", "files": {}}))
    region = environment.rsplit("/", 1)[-1]
    return Stack(folder, name, None if region == "unknown-region" else region)
