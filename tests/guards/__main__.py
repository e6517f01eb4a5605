"""Breaks the queue's guards one at a time, and demands that some test fails for each.

    python -m tests.guards [--root COPY] [--target TRIPLE] [NAME...]

Works on a copy of the sources (`make mutants` makes one), which it leaves as it found it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.guards.agents import AGENT_GUARDS
from tests.guards.guard import Guard
from tests.guards.guards import GUARDS
from tests.guards.ingest import INGEST_GUARDS
from tests.guards.keys import KEY_GUARDS

_FAILED = re.compile(r"^\s+(?:FAIL|TIMEOUT|SIGABRT) \[.*?\] (?:\(.*?\) )?(\S+ \S+)", re.MULTILINE)


def main() -> int:
    """Exit status 0 only if every broken guard was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the copy to break")
    parser.add_argument("--target", required=True, help="the triple to build for")
    parser.add_argument("names", nargs="*", help="only guards whose name contains one of these")
    arguments = parser.parse_args()
    chosen = [
        guard
        for guard in GUARDS + AGENT_GUARDS + INGEST_GUARDS + KEY_GUARDS
        if not arguments.names or any(name in guard.name for name in arguments.names)
    ]
    unnoticed = [guard for guard in chosen if not check(guard, arguments.root, arguments.target)]
    print(f"{len(chosen) - len(unnoticed)} of {len(chosen)} broken guards were noticed")
    return 1 if unnoticed or not chosen else 0


def check(guard: Guard, root: Path, target: str) -> bool:
    """Break `guard`, run the tests, mend it; whether a test failed."""
    began = time.monotonic()
    originals = {change.file: (root / change.file).read_text() for change in guard.changes}
    try:
        for change in guard.changes:
            source = (root / change.file).read_text()
            if source.count(change.find) != 1:
                raise SystemExit(
                    f"{guard.name}: {change.file} holds its text {source.count(change.find)} times,"
                    " not once; adapt tests/guards/guards.py to the source"
                )
            (root / change.file).write_text(source.replace(change.find, change.replace))
        noticed, what = run_tests(root, target)
    finally:
        for file, original in originals.items():
            (root / file).write_text(original)
    verdict = "noticed by" if noticed else "NOT NOTICED:"
    print(f"{guard.name}: {verdict} {what} ({time.monotonic() - began:.0f} s)", flush=True)
    return noticed


def run_tests(root: Path, target: str) -> tuple[bool, str]:
    """Run the Rust tests that need no template and no model, until the first fails."""
    nextest = ["cargo", "nextest", "run", "--locked", "--workspace", "--target", target]
    build = subprocess.run([*nextest, "--no-run"], cwd=root, capture_output=True, text=True)
    if build.returncode != 0:
        raise SystemExit(f"the broken guard does not compile:\n{build.stderr[-3000:]}")
    run = subprocess.run(
        [*nextest, "--filterset", "not package(model)"], cwd=root, capture_output=True, text=True
    )
    if run.returncode == 0:
        return False, "every test passed"
    failed = _FAILED.findall(run.stderr + run.stdout)
    if not failed:
        raise SystemExit(f"no test failed, but the run did:\n{run.stderr[-3000:]}")
    return True, ", ".join(dict.fromkeys(failed))


if __name__ == "__main__":
    sys.exit(main())
