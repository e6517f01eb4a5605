"""Deploys test CDK apps to the local AWS."""

from __future__ import annotations

import json
import os
from pathlib import Path

from local import assembly, deployment
from local.emulator import Emulator
from local.queue import DeployedQueue
from project.captured import captured
from project.paths import PROJECT, STATE

TOOLS = PROJECT / "node_modules" / ".bin"


def deployed(aws: Emulator, stack: str, app: str) -> DeployedQueue:
    """Type-checks, synthesizes and deploys a TypeScript CDK app, and returns the queue in `stack`."""
    # The folder is inside the project, so that imports of the `freshq` package resolve to its constructs.
    directory = STATE / stack.lower()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "app.ts").write_text(app)
    settings = {"extends": "../../tsconfig.json", "include": ["app.ts"]}
    (directory / "tsconfig.json").write_text(json.dumps(settings))
    tool(directory, "tsc", "--noEmit", "--project", "tsconfig.json")
    out = directory / "cdk.out"
    functions = os.environ.get("FRESHQ_ARTIFACTS", str(PROJECT / "target" / "local"))
    tool(directory, "tsx", "app.ts", CDK_OUTDIR=str(out), FRESHQ_ARTIFACTS=functions)
    return deployment.deploy(aws, assembly.read(out, stack), DeployedQueue)


def tool(directory: Path, name: str, *arguments: str, **variables: str) -> None:
    """Runs one of the project's tools."""
    output_of([str(TOOLS / name), *arguments], directory, dict(os.environ) | variables)


def output_of(command: list[str], directory: Path, environment: dict[str, str]) -> str:
    """Runs a command, which must exit with code 0, and returns its standard output."""
    finished = captured(command, cwd=directory, env=environment, timeout=120)
    assert finished.returncode == 0, f"{command}:\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout
