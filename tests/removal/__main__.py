"""Removes each permission of each function in turn and requires that a probe fails without it.

    python -m tests.removal [--write DOCUMENT] [--assembly DIRECTORY] [FUNCTION...]

Runs on a local AWS that enforces IAM, with the dev stacks. Only the probes invoke the functions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from local import assembly, deployment, emulator
from local.agents import DeployedAgents
from local.assembly import Assembly
from local.decisions import Decisions
from local.emulator import Emulator
from local.queue import DeployedQueue
from local.queue_reader import subscription
from local.stack import DeployedStack
from project.paths import LOCAL_ASSEMBLY, STATE
from tests.removal.agents import AgentProbes
from tests.removal.options import NAMES, examine_options
from tests.removal.probe import Probe, still
from tests.removal.removal import Verdict, examine
from tests.removal.report import Row, document, optional_row, row
from tests.removal.tasks import TaskProbes, endpoint


def main() -> int:
    """Returns exit code 0 only if each removal was noticed or has a reason why it can't be noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assembly", type=Path, default=LOCAL_ASSEMBLY)
    parser.add_argument("--write", type=Path, help="the document to write the table to")
    parser.add_argument("functions", nargs="*", help="only these functions")
    arguments = parser.parse_args()
    rows = []
    with emulator.start(STATE / "removal", enforced=True, schedules=False) as running:
        for found in _rows(running, arguments.assembly, arguments.functions):
            print(found, flush=True)
            rows.append(found)
    unnoticed = [found for found in rows if not found.is_settled]
    if arguments.write is not None:
        arguments.write.write_text(document(rows))
    print(f"{len(rows) - len(unnoticed)} of {len(rows)} permissions were noticed, or cannot be")
    return 1 if unnoticed or not rows else 0


def _rows(running: Emulator, directory: Path, functions: list[str]) -> Iterator[Row]:
    decisions = Decisions(running.decisions)
    tasks_template = assembly.read(directory, "LifoQueue-dev")
    queue = deployment.deploy(running, tasks_template, DeployedQueue)
    agents_template = assembly.read(directory, "AgentQueue-dev")
    agents = deployment.deploy(running, agents_template, DeployedAgents)
    still(queue)

    def chosen(probes: list[Probe]) -> list[Probe]:
        return [probe for probe in probes if not functions or probe.function in functions]

    def rows(stack: DeployedStack, template: Assembly, probes: list[Probe]) -> Iterator[Row]:
        verdicts: Iterator[Verdict] = examine(stack, decisions, chosen(probes))
        return (row(verdict, stack, template) for verdict in verdicts)

    with endpoint() as address:
        probes = TaskProbes(queue, address)
        yield from rows(queue, tasks_template, probes.all())
        if not functions or {"process-tasks", "count-shed"} & set(functions):
            for verdict in examine_options(queue, probes, decisions):
                yield optional_row(verdict, NAMES[verdict.permission.action])
    with subscription(agents, agents.outputs["AssignmentTopicArn"]) as assignments:
        yield from rows(agents, agents_template, AgentProbes(agents, assignments).all())


if __name__ == "__main__":
    sys.exit(main())
