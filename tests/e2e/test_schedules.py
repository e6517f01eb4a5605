"""The schedules of the deployed templates invoke the sweeps. In the other tests, no schedule fires."""

from __future__ import annotations

from local import deployment, emulator
from local.agents import DeployedAgents
from local.assembly import Assembly
from local.queue import DeployedQueue
from local.stack import DeployedStack
from local.waiting import now_ms, wait_until
from project.paths import STATE

#: Maximum wait. The schedules fire every minute, and the emulator checks for due schedules every 10 s.
SECONDS = 300


def test_schedules_invoke_the_sweeps(template: Assembly, agents_template: Assembly) -> None:
    began = now_ms()
    with emulator.start(STATE / "schedules") as running:
        swept: dict[str, DeployedStack] = {
            "sweep-tasks": deployment.deploy(running, template, DeployedQueue),
            "sweep-agents": deployment.deploy(running, agents_template, DeployedAgents),
        }
        for binary, stack in swept.items():
            wait_until(lambda: any_sweep(stack, binary, began), SECONDS, f"an invocation of {binary}", every=1)


def any_sweep(stack: DeployedStack, binary: str, since_ms: int) -> bool:
    return any(line.get("message") == "sweep" for line in stack.log_messages(binary, since_ms))
