"""The commands of ``python -m local``, which the Makefile calls."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from rich.console import Console

from local import account, assembly, demo, up_down
from local.paths import LOCAL_ASSEMBLY, PROJECT


def main() -> int:
    arguments = _parser().parse_args()
    # Restores the handler, because a shell can start a background process with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Raises an exception, so that the `finally` blocks stop the started processes.
        signal.signal(number, _leave)
    console = Console(highlight=False, soft_wrap=True)
    try:
        return _run(arguments, console)
    except KeyboardInterrupt:
        console.print("interrupted")
        return 130
    except (RuntimeError, TimeoutError) as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            str(error), style="red", markup=False
        )
        return 1


def _run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.command == "demo":
        return demo.run(_local_assembly(arguments), console, arguments.console)
    if arguments.command == "up":
        return _up(arguments, console)
    if arguments.command == "down":
        console.print("stopped" if up_down.down() else "nothing was running")
        return 0
    if arguments.command == "account":
        console.print(account.identify())
        return 0
    for line in account.leftovers(assembly.read(arguments.assembly, arguments.stack)):
        console.print(line, markup=False)
    return 0


def _up(arguments: argparse.Namespace, console: Console) -> int:
    agents = assembly.read(arguments.assembly, "AgentQueue-dev")
    stacks = up_down.up(
        _local_assembly(arguments), agents, lambda step: console.print(f"  {step}")
    )
    console.print(f"endpoint: {stacks[0].endpoint}", markup=False)
    for name, value in sorted(item for stack in stacks for item in stack.outputs.items()):
        console.print(f"{name}: {value}", markup=False)
    console.print("`make console LOCAL=1 CHANGES=1` serves a web page of both queues")
    console.print("`. .local/env` points this shell's AWS clients at it; `make local-down` stops it")
    return 0


def _local_assembly(arguments: argparse.Namespace) -> assembly.Assembly:
    return assembly.read(arguments.assembly, arguments.stack)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description=sys.modules["local"].__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, purpose in (
        ("demo", "deploy, run a burst of tasks, check the order, stop"),
        ("up", "deploy and stay up"),
        ("down", "stop what `up` started"),
        ("account", "print the AWS account and region of the credentials in use"),
        ("leftovers", "print the resources that remain after the stack is destroyed"),
    ):
        command = commands.add_parser(name, help=purpose)
        command.add_argument("--stack", default="LifoQueue-dev")
        command.add_argument("--assembly", type=Path, default=_default_assembly(name))
        if name == "demo":
            command.add_argument("--console", metavar="FRESHQ", help="also serve the console of this freshq")
    return parser


def _default_assembly(command: str) -> Path:
    return PROJECT / "cdk.out" if command == "leftovers" else LOCAL_ASSEMBLY


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
