"""The commands of ``python -m smoke``. Exit codes: 0 if no check failed, 1 if a check or the run itself failed."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

from local import assembly
from local.agents import DeployedAgents
from local.queue import DeployedQueue
from local.stack import DeployedStack
from project.paths import PROJECT
from smoke import place, stacks
from smoke.agents import AgentChecks
from smoke.place import Freshq, Place
from smoke.report import Report
from smoke.settings import SettingChecks
from smoke.tasks import TaskChecks

_KINDS: dict[str, type[DeployedStack]] = {"LifoQueue": DeployedQueue, "AgentQueue": DeployedAgents}


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    given = _parser().parse_args(arguments)
    # Restores the handler, because a shell can start a background process with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Raises an exception, so that the `finally` blocks remove the stacks.
        signal.signal(number, _leave)
    report = Report()
    try:
        given.run(given, report)
    except KeyboardInterrupt:
        report.say("interrupted")
        return 130
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    if report.failed:
        report.say(f"{len(report.failed)} of {len(report.results)} checks failed:")
        for result in report.failed:
            report.say(f"  {result.name}: {result.note}")
        return 1
    return 0


def _run(given: argparse.Namespace, report: Report) -> None:
    suffix = f"{given.environment}-{given.name}"
    names = [f"{kind}-{suffix}" for kind in _KINDS]
    with place.local_aws() if given.local else nullcontext(place.real_aws()) as where:
        stacks.reject_existing(where, names)
        with _removed_in_the_end(where, names, report):
            found: dict[str, DeployedStack] = {}
            for name, kind in zip(names, _KINDS.values(), strict=True):
                report.check(
                    f"deploy {name}",
                    lambda: found.update(
                        {name: stacks.deploy_stack(where, given.assembly, name, given.environment, kind)}
                    ) or "deployed",
                )
            _check_settings(given.assembly, where, found, report)
            queue, agents = (found.get(name) for name in names)
            if isinstance(queue, DeployedQueue):
                TaskChecks(queue, Freshq(given.freshq.resolve(), suffix, where)).run(report)
            if isinstance(agents, DeployedAgents):
                AgentChecks(agents).run(report)


@contextmanager
def _removed_in_the_end(where: Place, names: list[str], report: Report) -> Iterator[None]:
    """Removes the stacks at the end of the block, even after an error."""
    try:
        yield
    finally:
        report.say("removing the stacks; until this is done, Ctrl-C is ignored")
        with stacks.uninterrupted():
            report.check("everything is removed", lambda: stacks.remove(where, names))


def _settings(given: argparse.Namespace, report: Report) -> None:
    where = place.real_aws()
    names = [f"{kind}-{given.environment}" for kind in _KINDS]
    found: dict[str, DeployedStack] = {}
    for name, kind in zip(names, _KINDS.values(), strict=True):
        report.check(
            f"find {name}", lambda: found.update({name: stacks.find(where, name, kind)}) or "deployed"
        )
    _check_settings(given.assembly, where, found, report, given.since)


def _check_settings(
    directory: Path,
    where: Place,
    found: dict[str, DeployedStack],
    report: Report,
    since: datetime | None = None,
) -> None:
    artifacts = json.loads((directory / "manifest.json").read_text())["artifacts"]
    for name, stack in found.items():
        protected = artifacts[name]["properties"].get("terminationProtection", False)
        SettingChecks(where, stack, assembly.read(directory, name), protected, since).run(report)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m smoke", description=sys.modules["smoke"].__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="deploy, check, remove")
    run.add_argument("--name", default="smoke", help="the personal name of the stacks")
    run.add_argument("--local", action="store_true", help="start a local AWS and run on it")
    run.add_argument("--freshq", type=Path, required=True, help="the operators' command")
    run.set_defaults(run=_run)
    settings = commands.add_parser("settings", help="compare an environment's stacks with their templates")
    settings.add_argument(
        "--since",
        type=lambda seconds: datetime.fromtimestamp(int(seconds), timezone.utc),
        help="start of the deployment, in seconds since the epoch: alarms that fired before do not fail the check",
    )
    settings.set_defaults(run=_settings)
    for command in (run, settings):
        command.add_argument("--environment", required=True)
        command.add_argument("--assembly", type=Path, default=PROJECT / "cdk.out")
    return parser


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
