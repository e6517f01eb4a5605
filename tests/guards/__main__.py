"""Breaks the queues' guards one at a time, and requires that at least one test fails for each.

    python -m tests.guards --check
    python -m tests.guards --root COPY --target TRIPLE [--shard K/N] [NAME...]

With `--check`, only checks that each guard's text occurs in its file exactly once. Otherwise, breaks and restores the
guards in a copy of the sources, which `make guards` creates.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from project.captured import captured
from tests.guards.agents import AGENT_GUARDS
from tests.guards.guard import Guard
from tests.guards.guards import GUARDS
from tests.guards.health import HEALTH_GUARDS
from tests.guards.ingest import INGEST_GUARDS
from tests.guards.keys import KEY_GUARDS

ALL_GUARDS = GUARDS + HEALTH_GUARDS + AGENT_GUARDS + INGEST_GUARDS + KEY_GUARDS
_AGENT_QUEUE = ("--package", "agent-queue", "--package", "agents")
_LIFO_QUEUE = ("--package", "lifo-queue", "--package", "conformance")
#: The packages whose tests compile fastest and fail most often, and the one test binary of theirs that runs before the
#: others, by folder of the changed source.
NEAREST = {
    "crates/agent-queue/src/store/": (_AGENT_QUEUE, "stores"),
    "crates/agent-queue/src/intake/": (_AGENT_QUEUE, "intake"),
    "crates/agent-queue/": (_AGENT_QUEUE, "behaviour"),
    "crates/lifo-queue/src/ingest": (_LIFO_QUEUE, "ingest"),
    "crates/lifo-queue/src/store/": (_LIFO_QUEUE, "stores"),
    "crates/lifo-queue/src/sweep": (_LIFO_QUEUE, "sweeps"),
    "crates/lifo-queue/": (_LIFO_QUEUE, "turns"),
}
#: nextest's exit code for failed tests, which differs from that of a failed build: https://docs.rs/nextest-metadata
_TEST_RUN_FAILED = 100
_FAILED = re.compile(r"^\s+(?:FAIL|SIGABRT|(TIMEOUT)) \[.*?\] (?:\(.*?\) )?(\S+ \S+)", re.MULTILINE)


def main() -> int:
    """Returns exit code 0 only if a test failed for every broken guard."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the copy to break")
    parser.add_argument("--target", help="the triple to build for")
    parser.add_argument("--check", action="store_true", help="only search the texts, which takes seconds")
    parser.add_argument("--shard", type=shard, default=(0, 1), help="K/N: each Nth guard, K from 0 to N-1")
    parser.add_argument("names", nargs="*", help="only guards whose name contains one of these")
    arguments = parser.parse_args()
    chosen = [
        guard
        for guard in ALL_GUARDS
        if not arguments.names or any(name in guard.name for name in arguments.names)
    ]
    first, step = arguments.shard
    chosen = chosen[first::step]
    if arguments.check:
        faults = [fault for guard in chosen for fault in misfits(guard, arguments.root)]
        print("\n".join(faults) or f"{len(chosen)} guards are in place")
        return 1 if faults or not chosen else 0
    if not arguments.target:
        parser.error("--target is required, unless --check is given")
    # A test that fails without a broken guard would count as the detection of each guard.
    failed, what = notice([], arguments.root, arguments.target)
    if failed:
        raise SystemExit(f"a test fails although no guard is broken: {what}")
    unnoticed = [guard for guard in chosen if not check(guard, arguments.root, arguments.target)]
    print(f"{len(chosen) - len(unnoticed)} of {len(chosen)} broken guards were noticed")
    return 1 if unnoticed or not chosen else 0


def shard(text: str) -> tuple[int, int]:
    """Parses a shard K/N, numbered as in cargo-mutants, into K and N."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shard; write K/N with K from 0 to N-1, as 0/8")
    return int(match[1]), int(match[2])


def check(guard: Guard, root: Path, target: str) -> bool:
    """Breaks `guard`, runs the tests, restores the sources, and returns whether a test failed."""
    began = time.monotonic()
    if faults := misfits(guard, root):
        raise SystemExit("\n".join(faults))
    path = root / guard.file
    original = path.read_text()
    try:
        path.write_text(original.replace(guard.find, guard.replace))
        noticed, what = notice(nearest(guard), root, target)
    finally:
        path.write_text(original)
    verdict = "noticed by" if noticed else "NOT NOTICED:"
    print(f"{guard.name}: {verdict} {what} ({time.monotonic() - began:.0f} s)", flush=True)
    return noticed


def misfits(guard: Guard, root: Path) -> list[str]:
    """The reasons why `guard` can't be broken: one line if its file doesn't contain its text exactly once."""
    path = root / guard.file
    if not path.is_file():
        return [f"{guard.name}: {guard.file} does not exist; adapt tests/guards to the source"]
    if (found := path.read_text().count(guard.find)) == 1:
        return []
    first = guard.find.strip().splitlines()[0]
    return [
        f"{guard.name}: {guard.file} contains its text {found} times, not once;"
        f" adapt tests/guards to the source. The text begins: {first}"
    ]


def nearest(guard: Guard) -> list[list[str]]:
    """nextest's arguments for the tests that run first for this guard: each run has more tests than the one before."""
    for folder, (packages, binary) in NEAREST.items():
        if guard.file.startswith(folder):
            return [[*packages, "--lib", "--test", binary], [*packages]]
    folder, name, *_ = guard.file.split("/")
    return [["--package", name]] if folder == "lambdas" else []


def notice(runs: list[list[str]], root: Path, target: str) -> tuple[bool, str]:
    """Runs these tests, then all others except the model's. Returns whether a test failed, and which one."""
    # Without its guard, code can loop endlessly, so the first failed test stops all other tests.
    nextest = ["cargo", "nextest", "run", "--profile", "guards", "--max-fail", "1:immediate", "--locked"]
    nextest += ["--target", target]
    for chosen in [*runs, ["--workspace", "--filterset", "not package(model)"]]:
        noticed, what = run_tests([*nextest, *chosen], root)
        if noticed:
            break
    return noticed, what


def run_tests(command: list[str], root: Path) -> tuple[bool, str]:
    """Runs tests until the first failure. Returns whether a test failed, and which one."""
    run = captured(command, cwd=root)
    if run.returncode == 0:
        return False, "every test passed"
    # A time-out can also be that of a slow machine, so the verdict says so.
    failed = [f"{kind} {test}".strip() for kind, test in _FAILED.findall(run.stderr + run.stdout)]
    if run.returncode != _TEST_RUN_FAILED or not failed:
        raise SystemExit(f"no test failed, but the build or the test run did:\n{run.stderr[-3000:]}")
    return True, ", ".join(dict.fromkeys(failed))


if __name__ == "__main__":
    sys.exit(main())
