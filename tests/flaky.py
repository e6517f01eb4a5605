"""``python -m tests.flaky 5 tests/e2e`` repeats tests and lists those that failed. It exits with code 1 if any did.

All arguments after the number are passed to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from project.paths import PROJECT, STATE


def failures(results: Path) -> list[str]:
    """The failed tests in a pytest JUnit file."""
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in ElementTree.parse(results).iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]


def main(runs: int, *arguments: str) -> int:
    """Runs pytest with these arguments `runs` times and returns the exit code."""
    failed: Counter[str] = Counter()
    directory = STATE / "flaky"
    directory.mkdir(parents=True, exist_ok=True)
    for run in range(1, runs + 1):
        print(f"run {run} of {runs}", flush=True)
        results = directory / f"run-{run}.xml"
        results.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", *arguments, f"--junit-xml={results}"]
        finished = subprocess.run(command, cwd=PROJECT, check=False)
        found = failures(results) if results.exists() else []
        if finished.returncode != 0 and not found:
            found = [f"pytest itself ended with code {finished.returncode}"]
        failed.update(found)
    for name, times in failed.most_common():
        print(f"failed in {times} of {runs} runs: {name}")
    print(f"{runs} runs, {len(failed)} tests failed at least once")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
