"""The commands of ``python -m local``, which the Makefile calls."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from rich.console import Console

from local import assembly, demo, up_down
from project.paths import LOCAL_ASSEMBLY


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
        return demo.run(_stack("LifoQueue-dev"), console, arguments.console)
    if arguments.command == "up":
        return _up(console)
    console.print("stopped" if up_down.down() else "nothing was running")
    return 0


def _up(console: Console) -> int:
    stacks = up_down.up(
        _stack("LifoQueue-dev"), _stack("AgentQueue-dev"), lambda step: console.print(f"  {step}")
    )
    console.print(f"endpoint: {stacks[0].endpoint}", markup=False)
    for name, value in sorted(item for stack in stacks for item in stack.outputs.items()):
        console.print(f"{name}: {value}", markup=False)
    console.print("`make console LOCAL=1 CHANGES=1` serves a web page of both queues")
    console.print("`. .local/env` points this shell's AWS clients at it; `make local-down` stops it")
    return 0


def _stack(name: str) -> assembly.Assembly:
    return assembly.read(LOCAL_ASSEMBLY, name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description=sys.modules["local"].__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("demo", help="deploy, run a burst of tasks, check the order, stop")
    show.add_argument("--console", metavar="FRESHQ", help="also serve the console of this freshq")
    commands.add_parser("up", help="deploy and stay up")
    commands.add_parser("down", help="stop what `up` started")
    return parser


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
