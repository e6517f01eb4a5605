"""The commands of ``python -m delivery``, which the Makefile and the workflows call."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from delivery import account, assembly, checkout, commands, deploy, deployed, package, preflight, protection, release
from delivery.arm64 import starting, verify
from project.paths import PROJECT, STATE


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        return given.run(given)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1


def _account(_given: argparse.Namespace) -> int:
    print(account.identify())
    return 0


def _leftovers(given: argparse.Namespace) -> int:
    print("\n".join(account.leftovers(given.assembly, given.stack)))
    return 0


def _deployed(given: argparse.Namespace) -> int:
    found = deployed.fetch(assembly.stacks(given.assembly, *given.stacks), given.into)
    print(f"deployed: {', '.join(found) or 'none of them'}; templates in {given.into}")
    return 0


def _preflight(given: argparse.Namespace) -> int:
    if given.stack is not None:
        print(f"preflight of {given.stack}", flush=True)
        assembled = STATE / "preflight"
        preflight.synthesize(given.environment, given.name, assembled)
        [stack] = assembly.stacks(assembled, given.stack)
        preflight.report(preflight.of_stack(stack), print)
        return 0
    print(f"preflight of {given.environment or 'the bootstrap'}", flush=True)
    findings = preflight.of_account()
    if given.environment is None:
        if all(finding.remedy is None for finding in findings):
            findings += preflight.of_toolkit(None)
    else:
        if given.environment == deploy.PRODUCTION:
            checkout.reject_uncommitted(PROJECT)
        findings += preflight.of_build()
    preflight.report(findings, print)
    return 0


def _protection(given: argparse.Namespace) -> int:
    protection.check(given.repository, given.branch, given.environments.split(","), print)
    return 0


def _bootstrap(_given: argparse.Namespace) -> int:
    deploy.bootstrap()
    return 0


def _deploy(given: argparse.Namespace) -> int:
    for stack in assembly.stacks(given.assembly, *given.stacks):
        deploy.run(deploy.Request(stack, given.environment, given.yes, given.local))
    return 0


def _verify_arm64(given: argparse.Namespace) -> int:
    verified = verify.verify(given.functions, given.built, given.placeholders, lambda line: print(line, flush=True))
    emulated = "; startup takes many times longer under qemu" if starting.emulator() else ""
    print(f"{len(verified)} functions are arm64, start and respond correctly{emulated}")
    return 0


def _package(given: argparse.Namespace) -> int:
    functions = package.Functions(given.built, tuple(given.functions), given.rustc or package.rustc())
    packed = package.build(functions, given.out)
    print(f"{hashlib.sha256(packed.read_bytes()).hexdigest()}  {packed}")
    return 0


def _release(given: argparse.Namespace) -> int:
    functions = package.Functions(given.built, tuple(given.functions), given.rustc or _compiler(given))
    release.build(release.Release(functions, given.commands, given.dry), release.OUT, print)
    return 0


def _compiler(given: argparse.Namespace) -> str:
    """The functions' compiler, which a dry run without functions doesn't require."""
    if given.dry and not any(given.built.glob("*/bootstrap")):
        return "none"
    return package.rustc()


def _sizes(given: argparse.Namespace) -> int:
    print("\n".join(verify.sizes(given.built)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m delivery", description=__doc__)
    verbs = parser.add_subparsers(dest="command", required=True)
    whose = verbs.add_parser("account", help="print the AWS account and region of the credentials in use")
    whose.set_defaults(run=_account)
    left = verbs.add_parser("leftovers", help="print the resources that remain after the stack is destroyed")
    left.add_argument("--assembly", type=Path, default=PROJECT / "cdk.out")
    left.add_argument("--stack", required=True)
    left.set_defaults(run=_leftovers)
    read = verbs.add_parser("deployed", help="read the templates of an assembly's stacks that are deployed")
    read.add_argument("--assembly", type=Path, default=PROJECT / "cdk.out")
    read.add_argument("--into", type=Path, required=True)
    read.add_argument("stacks", nargs="*", help="their names; all by default")
    read.set_defaults(run=_deployed)
    ready = verbs.add_parser("preflight", help="find what would stop a deployment, before anything is built")
    ready.add_argument("--environment", help="the environment to deploy; none: the bootstrap")
    ready.add_argument("--name", help="the name of your own copy")
    ready.add_argument("--stack", help="check what this stack needs of the account, with its template without code")
    ready.set_defaults(run=_preflight)
    guard = verbs.add_parser("protection", help="reject GitHub environments that more than one branch may use")
    guard.add_argument("--branch", default="main", help="the branch that is deployed")
    guard.add_argument("--repository", required=True, help="owner/name")
    guard.add_argument("--environments", required=True, help="their names, separated by commas")
    guard.set_defaults(run=_protection)
    first = verbs.add_parser("bootstrap", help="bootstrap the CDK in the account and region in use")
    first.set_defaults(run=_bootstrap)
    out = verbs.add_parser("deploy", help="show the changes, prompt for confirmation, deploy")
    out.add_argument("--assembly", type=Path, default=PROJECT / "cdk.out")
    out.add_argument("--environment", required=True)
    out.add_argument("--yes", action="store_true", help="skip the prompt for confirmation")
    out.add_argument("--local", action="store_true", help="deploy to the local AWS that this shell uses")
    out.add_argument("stacks", nargs="+")
    out.set_defaults(run=_deploy)
    measured = verbs.add_parser("sizes", help="print the sizes of the zips that are deployed")
    measured.add_argument("--built", type=Path, default=package.BUILT)
    measured.set_defaults(run=_sizes)
    pack = verbs.add_parser("package", help="build the npm package")
    pack.add_argument("--built", type=Path, default=package.BUILT)
    pack.add_argument("--out", type=Path, default=PROJECT)
    pack.add_argument("--rustc", help="the compiler of the functions; by default that of `make build`")
    pack.add_argument("functions", nargs="+")
    pack.set_defaults(run=_package)
    everything = verbs.add_parser("release", help="build what a release publishes")
    everything.add_argument("--built", type=Path, default=package.BUILT)
    everything.add_argument("--commands", type=Path, default=commands.BUILT, help="folder with <platform>/freshq")
    everything.add_argument("--dry", action="store_true", help="print missing parts and continue")
    everything.add_argument("--rustc", help="the compiler of the functions; by default that of `make build`")
    everything.add_argument("functions", nargs="+")
    everything.set_defaults(run=_release)
    check = verbs.add_parser("verify-arm64", help="check and start the functions that were built for AWS")
    check.add_argument("--built", type=Path, default=package.BUILT)
    check.add_argument("--placeholders", type=Path, required=True, help="an assembly of dev without code")
    check.add_argument("functions", nargs="+")
    check.set_defaults(run=_verify_arm64)
    return parser


if __name__ == "__main__":
    sys.exit(main())
