"""Finds problems with a deployment or a bootstrap before the build. Each problem is one line with its remedy.

There are two phases. The first requires only boto3: `of_account` checks the credentials and the region, and `of_build`
checks the tools. In the second, `of_stack` checks a template with placeholder code: its account and bootstrap, the
stack state, other resources, and the reserved concurrency.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from delivery import account, configured, existing, wedged
from delivery.assembly import Stack
from project.captured import captured
from project.paths import NODE_BIN, PROJECT

#: Creates a client for a service in a region; `None` means the current region.
Clients = Callable[[str, str | None], Any]
#: Lambda keeps this much of an account's concurrency, or all of a smaller quota, for functions without a reservation:
#: https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
KEPT_UNRESERVED = 100
#: The stack that `cdk bootstrap` creates by default.
TOOLKIT = "CDKToolkit"
_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")


class NotReady(RuntimeError):
    """Raised if the preflight finds problems, which it prints on the terminal."""


@dataclass(frozen=True)
class Finding:
    """The result of one check. A problem has a remedy. If `looked` is False, `found` says why nothing was checked."""

    check: str
    found: str
    remedy: str | None = None
    looked: bool = True

    def __str__(self) -> str:
        if self.remedy is not None:
            return f"  FAILED       {self.check}: {self.found}. Remedy: {self.remedy}"
        return f"  {'ok' if self.looked else 'not checked':12} {self.check}: {self.found}"


def report(findings: list[Finding], say: Callable[[str], None]) -> None:
    """Prints the findings. Raises `NotReady` if any finding is a problem."""
    for finding in findings:
        say(str(finding))
    failed = [finding.check for finding in findings if finding.remedy is not None]
    if failed:
        raise NotReady(f"not ready: {', '.join(failed)}")


def client(service: str, region: str | None) -> Any:
    """A client with the current credentials and timeouts of a few seconds."""
    return account.session().client(service, region_name=region, config=_CONFIG)


def of_account(environ: Mapping[str, str] = os.environ, client_of: Clients = client) -> list[Finding]:
    """Checks the credentials and the region of this shell."""
    if any(name.startswith("AWS_ENDPOINT_URL") for name in environ):
        remedy = "open a new shell, or deploy to the local AWS with LOCAL=1"
        return [Finding("account", "AWS_ENDPOINT_URL points this shell at the local AWS", remedy)]
    region, found = _region()
    return [*found, _credentials(region, client_of)]


def of_build(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Checks that this machine can build the functions, and that no environment variable skips the build."""
    findings = []
    if environ.get("FRESHQ_SKIP_BUILD"):
        findings.append(Finding("code", "FRESHQ_SKIP_BUILD omits the functions' code", "unset FRESHQ_SKIP_BUILD"))
    if environ.get("FRESHQ_ARTIFACTS"):
        remedy = "unset FRESHQ_ARTIFACTS"
        findings.append(Finding("code", "FRESHQ_ARTIFACTS names functions built elsewhere", remedy))
    finished = captured([str(PROJECT / "delivery" / "build-arm64.sh"), "--check"])
    if finished.returncode != 0:
        remedy = "rustup target add aarch64-unknown-linux-gnu (docs/how-to/continuous-delivery.md names Debian's packages)"
        findings.append(Finding("tools", "Rust has no standard library for arm64 Linux", remedy))
    else:
        findings.append(Finding("tools", finished.stdout.strip()))
    return findings


def of_toolkit(region: str | None, client_of: Clients = client) -> list[Finding]:
    """Checks that `cdk bootstrap` can create or update its stack."""
    return [_looked("bootstrap stack", lambda: _state(client_of("cloudformation", region), TOOLKIT))]


def of_stack(stack: Stack, client_of: Clients = client) -> list[Finding]:
    """Checks that this stack can be deployed to the account."""
    cloudformation = client_of("cloudformation", stack.region)
    return [
        *_configuration(stack),
        _looked("account", lambda: _account(stack, client_of)),
        _looked("bootstrap", lambda: _bootstrap(stack, client_of("ssm", stack.region))),
        _looked("stack", lambda: _state(cloudformation, stack.name)),
        _looked("event bus", lambda: _event_bus(stack, client_of)),
        _looked("ingest queue", lambda: _ingest_queue(stack, client_of("sqs", stack.region), cloudformation)),
        _looked("concurrency", lambda: _concurrency(stack, client_of("lambda", stack.region), cloudformation)),
    ]


def synthesize(environment: str, personal: str | None, into: Path) -> None:
    """Writes an environment's assembly with placeholder code. Raises `NotReady` if its settings are invalid."""
    context = {"env": environment} | ({"name": personal} if personal else {})
    # Runs the app without the CDK CLI, which would print a warning about placeholders.
    finished = captured(
        [str(NODE_BIN / "tsx"), "infra/app.ts"],
        cwd=PROJECT,
        env=os.environ | {"FRESHQ_SKIP_BUILD": "1", "CDK_OUTDIR": str(into), "CDK_CONTEXT_JSON": json.dumps(context)},
    )
    if finished.returncode != 0:
        raise NotReady(f"the stacks of {environment} cannot be synthesized:\n{finished.stderr.strip()}")


def _region() -> tuple[str | None, list[Finding]]:
    try:
        region = account.session().region_name
    except BotoCoreError as error:
        return None, [Finding("profile", str(error), "set AWS_PROFILE to a profile of your ~/.aws/config, or unset it")]
    if region:
        return region, [Finding("region", region)]
    return None, [Finding("region", "none is set", "set AWS_REGION, or a region in your profile")]


def _credentials(region: str | None, client_of: Clients) -> Finding:
    # Every region returns the same account.
    try:
        identity = client_of("sts", region or "us-east-1").get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        remedy = "set AWS_PROFILE, sign in with `aws sso login`, or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return Finding("credentials", _first_line(error), remedy)
    return Finding("credentials", f"account {identity['Account']} as {identity['Arn']}")


def _account(stack: Stack, client_of: Clients) -> Finding:
    account = client_of("sts", stack.region or "us-east-1").get_caller_identity()["Account"]
    if stack.account not in (None, account):
        remedy = f"sign in to {stack.account}, or change `account` in infra/environments/list.ts"
        return Finding("account", f"{stack.name} belongs to {stack.account}, and you are signed in to {account}", remedy)
    return Finding("account", f"{stack.name} goes to {account}")


def _configuration(stack: Stack) -> list[Finding]:
    gaps = [Finding("configuration", gap.found, gap.remedy) for gap in configured.gaps(stack)]
    return gaps or [Finding("configuration", "complete" if stack.protected else "not protected")]


def _bootstrap(stack: Stack, ssm: Any) -> Finding:
    needed = stack.bootstrap()
    if needed is None:
        return Finding("bootstrap", f"{stack.name} needs none")
    parameter, version = needed
    remedy = f"make bootstrap{f' REGION={stack.region}' if stack.region else ''}"
    try:
        found = int(ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        return Finding("bootstrap", "the CDK has not been bootstrapped in this account and region", remedy)
    if found < version:
        return Finding("bootstrap", f"version {found} is deployed, and {stack.name} needs {version}", remedy)
    return Finding("bootstrap", f"version {found}")


def _state(cloudformation: Any, name: str) -> Finding:
    found = wedged.state(cloudformation, name)
    if found is None:
        return Finding("stack", f"{name} is not deployed yet")
    status = found["StackStatus"]
    stands = wedged.problem(name, status)
    if stands is None:
        return Finding("stack", f"{name} is {status}")
    if wedged.was_never_created(status):
        if name != TOOLKIT:
            return Finding("stack", f"{stands[0]}; {stands[1]}")
        return Finding("stack", stands[0], f"aws cloudformation delete-stack --stack-name {name}, then run this again")
    return Finding("stack", *stands)


def _event_bus(stack: Stack, client_of: Clients) -> Finding:
    name = existing.bus_of(stack)
    if name is None:
        return Finding("event bus", f"{stack.name} has none")
    gap = existing.missing_bus(name, client_of("events", stack.region))
    return Finding("event bus", gap.found, gap.remedy) if gap else Finding("event bus", f"{name} exists")


def _ingest_queue(stack: Stack, sqs: Any, cloudformation: Any) -> Finding:
    found = wedged.state(cloudformation, stack.name)
    deployed = _deployed_template(cloudformation, stack.name)
    gap = existing.leftover_queue(stack, deployed, found["StackId"], sqs) if found and deployed else None
    return Finding("ingest queue", gap.found, gap.remedy) if gap else Finding("ingest queue", "no leftover ingest queue")


def _concurrency(stack: Stack, functions: Any, cloudformation: Any) -> Finding:
    wanted = reserved(stack.template())
    deployed = _deployed_template(cloudformation, stack.name)
    more = sum(max(0, count - reserved(deployed).get(id_, 0)) for id_, count in wanted.items())
    limit = functions.get_account_settings()["AccountLimit"]
    quota, unreserved = limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]
    kept = min(KEPT_UNRESERVED, quota)
    free = max(0, unreserved - kept)
    found = (
        f"{stack.name} reserves {more} more of Lambda's concurrency, and {free} can be reserved"
        f" (quota {quota}, {unreserved} unreserved, of which Lambda keeps {kept})"
    )
    if more <= free:
        return Finding("concurrency", found)
    remedy = (
        "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"
        f" --desired-value {max(1000, quota + more - free)}, free what other functions reserve, or set processing.unreservedConcurrency"
    )
    return Finding("concurrency", found, remedy)


def reserved(template: Mapping[str, Any]) -> dict[str, int]:
    """The concurrency that a template's functions reserve, by logical id."""
    return {
        id_: int(resource["Properties"]["ReservedConcurrentExecutions"])
        for id_, resource in template.get("Resources", {}).items()
        if resource["Type"] == "AWS::Lambda::Function"
        and "ReservedConcurrentExecutions" in resource.get("Properties", {})
    }


def _deployed_template(cloudformation: Any, name: str) -> Mapping[str, Any]:
    """The deployed template; empty if the stack doesn't exist or its creation failed."""
    found = wedged.state(cloudformation, name)
    if found is None or wedged.was_never_created(found["StackStatus"]):
        return {}
    body = cloudformation.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    return json.loads(body) if isinstance(body, str) else body


def _looked(check: str, look: Callable[[], Finding]) -> Finding:
    """The finding of `look`. If the credentials lack read permission, the finding says so and isn't a problem."""
    try:
        return look()
    except ClientError as error:
        if error.response["Error"]["Code"] in _DENIED:
            return Finding(check, _first_line(error), looked=False)
        return Finding(check, _first_line(error), "run this again; if it fails again, check your permissions and the region")
    except BotoCoreError as error:
        return Finding(check, _first_line(error), "check your connection to AWS, then run this again")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
