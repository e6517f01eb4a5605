"""``make deploy``: shows the changes, asks for confirmation, deploys, and prints the next command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delivery import account, checkout, rollback, wedged
from delivery.assembly import Stack
from project.paths import CDK, PROJECT, STATE

#: The environment that is deployed only from a commit.
PRODUCTION = "prod"
_AGENTS = "AgentQueue-"
_TASKS = "LifoQueue-"


class Failed(RuntimeError):
    """Raised if a command fails. Its output is on the terminal."""


@dataclass(frozen=True)
class Request:
    stack: Stack
    environment: str
    #: Whether to skip all prompts and answer yes.
    yes: bool
    #: Whether to deploy to the local AWS, whose functions are built for this machine.
    local: bool


def run(request: Request, ask: Callable[[str], str] = input, say: Callable[[str], None] = print) -> bool:
    """Deploys one stack and returns False if the user declines. Raises `RuntimeError` if the stack can't be deployed."""
    stack = request.stack
    _reject_incomplete(request)
    if not request.local:
        say(f"{stack.name} goes to {account.identify()}")
    if not wedged.make_way(
        _client("cloudformation", stack.region),
        stack.name,
        lambda question: _agreed(request, question, ask),
        say,
    ):
        say("nothing was deployed")
        return False
    _cdk(["diff", stack.name, "--exclusively", "--app", str(stack.directory)])
    if not _agreed(request, f"Deploy {stack.name}?", ask):
        say("nothing was deployed")
        return False
    watched = rollback.watch(stack, _client)
    for note in watched.notes:
        say(f"{stack.name}: {note}")
    outputs = STATE / "outputs" / f"{stack.name}.json"
    outputs.parent.mkdir(parents=True, exist_ok=True)
    _cdk(
        ["deploy", stack.name, "--exclusively", "--app", str(stack.directory)]
        # Disables the CDK CLI's prompt, because the prompt above covers every kind of change.
        + ["--require-approval", "never", "--outputs-file", str(outputs)]
        + watched.arguments()
    )
    # The CDK CLI has already printed the outputs.
    say(f"next: {next_command(stack.name, json.loads(outputs.read_text()).get(stack.name, {}))}")
    return True


def bootstrap() -> None:
    """Bootstraps the current account and region for the AWS CDK."""
    place = f"aws://{account.identify()}"
    # Runs outside the project folder, where the CDK CLI would first synthesize the app in cdk.json.
    STATE.mkdir(exist_ok=True)
    _cdk(["bootstrap", place], STATE)


def next_command(stack: str, outputs: dict[str, str]) -> str:
    """The command that shows the queue after a deployment."""
    suffix = stack.removeprefix(_TASKS).removeprefix(_AGENTS)
    if stack.startswith(_AGENTS):
        return (
            f"aws lambda invoke --function-name {outputs['AgentDeskFunctionName']} "
            """--cli-binary-format raw-in-base64-out --payload '{"command":"queues"}' /dev/stdout"""
        )
    return f"freshq status --env {suffix}"


def _reject_incomplete(request: Request) -> None:
    checkout.reject_placeholders(request.stack)
    if request.local:
        return
    if request.environment == PRODUCTION:
        checkout.reject_uncommitted(PROJECT)
    checkout.reject_gaps(request.stack)
    checkout.reject_unbuilt(request.stack)


def _client(service: str, region: str | None) -> Any:
    return account.session().client(service, region_name=region)


def _agreed(request: Request, question: str, ask: Callable[[str], str]) -> bool:
    if request.yes:
        return True
    try:
        return ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        raise Failed("no terminal for the confirmation prompt: check `make diff`, then run again with YES=1") from None


def _cdk(arguments: list[str], directory: Path = PROJECT) -> None:
    sys.stdout.flush()
    finished = subprocess.run(
        [str(CDK), *arguments, "--no-notices", "--no-version-reporting"],
        cwd=directory,
        env=os.environ | {"CDK_DISABLE_CLI_TELEMETRY": "true"},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if finished.returncode != 0:
        raise Failed(f"cdk {arguments[0]} ended with code {finished.returncode}")
