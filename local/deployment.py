"""Deploys the synthesized template with the CDK CLI, as to AWS."""

from __future__ import annotations

from typing import Callable

import boto3

from local import emulator_fixups
from local.assembly import Assembly
from local.emulator import ACCOUNT, REGION, Emulator, local_environment
from local.stack import S, exists
from project.captured import captured
from project.paths import CDK

_CDK_SECONDS = 300
#: The stack that `cdk bootstrap` creates by default.
_BOOTSTRAP_STACK = "CDKToolkit"


class DeploymentError(RuntimeError):
    """Raised if the CDK CLI fails. The message contains the end of its output."""


def deploy(
    emulator: Emulator, assembly: Assembly, kind: type[S], say: Callable[[str], None] = lambda line: None
) -> S:
    """Bootstraps the account, deploys the assembly's stack, and sets the properties that CloudFormation dropped.

    Passes one line per step to `say`.
    """
    if not CDK.exists():
        raise DeploymentError("the CDK CLI is not installed: run `make setup`")
    session = fake_session()
    cloudformation = session.client("cloudformation", endpoint_url=emulator.endpoint)
    # Bootstraps only once, because the tests deploy multiple stacks to one emulator.
    if not exists(cloudformation, _BOOTSTRAP_STACK):
        say("cdk bootstrap")
        _cdk(emulator, ["bootstrap", f"aws://{ACCOUNT}/{REGION}"])
    say(f"cdk deploy {assembly.stack}")
    _cdk(
        emulator,
        ["deploy", assembly.stack, "--exclusively", "--app", str(assembly.directory.resolve())]
        + ["--require-approval", "never"],
    )
    deployed = kind.find(session, emulator.endpoint, assembly.stack)
    for line in emulator_fixups.apply(
        assembly, deployed.physical_id, deployed.client("lambda"), deployed.client("dynamodb")
    ):
        say(f"set by API: {line}")
    return deployed


def fake_session() -> boto3.Session:
    return boto3.Session(
        aws_access_key_id=ACCOUNT, aws_secret_access_key="test", region_name=REGION
    )


def _cdk(emulator: Emulator, arguments: list[str]) -> None:
    environment = local_environment(emulator.endpoint) | {
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CI": "true",
    }
    # Runs outside the project folder, where `cdk bootstrap` would first synthesize the app in cdk.json.
    finished = captured(
        [str(CDK), *arguments, "--no-notices", "--no-version-reporting"],
        cwd=emulator.directory,
        env=environment,
        timeout=_CDK_SECONDS,
    )
    if finished.returncode != 0:
        raise DeploymentError(
            f"cdk {arguments[0]} ended with code {finished.returncode}:\n"
            f"{finished.stdout[-4000:]}\n{finished.stderr[-4000:]}"
        )
