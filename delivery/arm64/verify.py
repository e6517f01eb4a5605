"""``make verify-arm64``: every function is an arm64 program that Lambda can start, and responds to an event."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delivery.arm64 import elf, starting
from local import assembly, deployment, emulator
from local.agents import DeployedAgents
from local.contract import AGENT_FUNCTIONS
from local.queue import DeployedQueue
from local.stack import DeployedStack
from project.paths import PROJECT, STATE

#: Maximum size of a function's zip file, in bytes. Lambda's limit is 50 MB; a doubled size means an unintended dependency.
ZIP_BUDGET = 6 * 1024 * 1024
#: Maximum startup time in seconds, from exec to the first request for an event. The functions take less than 20 ms.
#: Checked only on arm64, because qemu takes longer.
START_BUDGET = 0.25
_EVENTS = PROJECT / "tests" / "events"
#: Event files that aren't named after their function.
_EVENT_FILES = {"trigger": "trigger-insert.json"}


class WrongResponse(RuntimeError):
    """Raised if a function fails a check. The message contains the function and the reason."""


def _has(**expected: Any) -> Callable[[Any], bool]:
    """Returns a check that a response is an object with these values, possibly among others."""
    return lambda response: isinstance(response, dict) and expected.items() <= response.items()


def _created(response: Any) -> bool:
    counts = {part: len(response[part]) for part in ("created", "duplicates", "failed")}
    return counts == {"created": 2, "duplicates": 1, "failed": 1}


#: The check of each function's response to its event. The functions run in this order on initially empty queues, so
#: `process-tasks` runs the tasks created by `create-tasks`.
CHECKS: dict[str, Callable[[Any], bool]] = {
    "create-tasks": _created,
    "trigger": lambda response: response == "published",
    "process-tasks": _has(taken=2, succeeded=2, failed=0, store_errors=0, exit="empty"),
    "sweep-tasks": _has(complete=True, failed=0, woke=False, pending={"count": 0, "exact": True}),
    "count-shed": _has(batchItemFailures=[]),
    "ingest-tasks": _has(batchItemFailures=[]),
    "agent-desk": _has(queues=[]),
    "match-calls": _has(batchItemFailures=[]),
    "sweep-agents": _has(complete=True, pendingCalls=1),
}


@dataclass(frozen=True)
class Verified:
    """The measurements of a function that passed the checks."""

    function: str
    binary: elf.Binary
    zipped: int
    cold_start: float


def event_of(function: str) -> Any:
    """The event to which `CHECKS` has the response."""
    return json.loads((_EVENTS / _EVENT_FILES.get(function, f"{function}.json")).read_text())


def verify(functions: Iterable[str], built: Path, placeholders: Path, say: Callable[[str], None]) -> list[Verified]:
    """Checks and starts each of `functions`, built below `built`.

    `placeholders` is an assembly of dev. Its stacks, deployed to a local AWS, provide each function's environment and
    respond to its requests. Raises `RuntimeError` for the first function that fails a check.
    """
    wanted = set(functions)
    unknown = sorted(wanted - CHECKS.keys())
    if unknown:
        raise WrongResponse(f"CHECKS has no expected response for {', '.join(unknown)}: add it")
    names = [name for name in CHECKS if name in wanted]
    binaries = {name: _sound_binary(name, built / name / "bootstrap") for name in names}
    sizes = {name: zipped(name, built / name / "bootstrap") for name in names}
    say(f"running with: {' '.join(starting.emulator()) or 'this machine, which is arm64'}")
    with emulator.start(STATE / "arm64") as local_aws:
        stacks = [
            deployment.deploy(local_aws, assembly.read(placeholders, "LifoQueue-dev"), DeployedQueue),
            deployment.deploy(local_aws, assembly.read(placeholders, "AgentQueue-dev"), DeployedAgents),
        ]
        verified = []
        for name in names:
            stack = stacks[name in AGENT_FUNCTIONS]
            cold_start = _started(name, built / name / "bootstrap", stack)
            verified.append(Verified(name, binaries[name], sizes[name], cold_start))
            say(_line(verified[-1]))
        return verified


def _sound_binary(function: str, bootstrap: Path) -> elf.Binary:
    binary = elf.read(bootstrap)
    problems = binary.problems()
    if problems:
        raise WrongResponse(f"{function}: {'; '.join(problems)}")
    return binary


def zipped(function: str, bootstrap: Path) -> int:
    """The size of the uploaded zip file. Raises `WrongResponse` if it exceeds the budget."""
    path = STATE / "arm64.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.write(bootstrap, "bootstrap")
        size = path.stat().st_size
    finally:
        path.unlink(missing_ok=True)
    if size > ZIP_BUDGET:
        raise WrongResponse(
            f"{function}: its zip has {size} bytes, over the budget of {ZIP_BUDGET}. "
            "Find the dependency that makes it large (`cargo tree`), or raise ZIP_BUDGET and say why"
        )
    return size


def sizes(built: Path) -> list[str]:
    """One line per built function with the size of its zip file. Raises `WrongResponse` if a size exceeds the budget."""
    lines = []
    for bootstrap in sorted(built.glob("*/bootstrap")):
        size = zipped(bootstrap.parent.name, bootstrap)
        lines.append(f"  {bootstrap.parent.name:<14} zip {size / 2**20:.1f} MiB of {ZIP_BUDGET / 2**20:.0f}")
    return lines or ["  zips: the functions are not built for AWS; build them with `make build`"]


def _started(function: str, bootstrap: Path, stack: DeployedStack) -> float:
    """Starts a function, checks its response, and returns its cold start in seconds. Raises `WrongResponse`."""
    event = event_of(function)
    environment = stack.environment(function) | emulator.client_variables(stack.local_endpoint)
    run = starting.run(function, bootstrap, event, environment)
    if run.result.kind != "response" or not CHECKS[function](run.result.body):
        raise WrongResponse(f"{function}: {run.result.kind} {json.dumps(run.result.body)}")
    if not starting.emulator() and run.cold_start > START_BUDGET:
        raise WrongResponse(f"{function}: it took {run.cold_start:.3f} s to start, over the budget of {START_BUDGET} s")
    return run.cold_start


def _line(found: Verified) -> str:
    return (
        f"  {found.function:<14} {found.binary.described():<22} zip {found.zipped / 2**20:.1f} MiB  "
        f"start {found.cold_start * 1000:.0f} ms"
    )
