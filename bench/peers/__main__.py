"""``python -m bench.peers``: measures, prints a table, and writes peers.json and the picture."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers import picture
from bench.peers.processes import Installed
from bench.peers.scenes import Backlog, Imperfect, Outage, Overload

_PROJECT = Path(__file__).parents[2]
_QUIET = "one task every 15 s, outage of 3 min"
_ALONE: dict[str, Backlog | Overload] = {
    "runs of 20 ms": Backlog(20),
    "runs of 100 ms": Backlog(100),
    "twice the capacity": Overload(),
}
_TOGETHER: dict[str, Outage | Imperfect] = {
    "outage of 20 s": Outage(per_second=10, before=10, outage=20, after=10),
    "imperfect API": Imperfect(),
    _QUIET: Outage(per_second=1 / 15, before=0, outage=180, after=0),
}
_ROWS: list[tuple[str, str, Callable[[dict[str, Any]], str]]] = [
    ("share of a bare client, backlog, runs of 20 ms", "runs of 20 ms", lambda of: _percent(of["share"])),
    ("share of a bare client, backlog, runs of 100 ms", "runs of 100 ms", lambda of: _percent(of["share"])),
    ("share of a bare client, twice the capacity, runs of 400 ms", "twice the capacity", lambda of: _percent(of["share"])),
    ("of them under 1 s old at the start", "twice the capacity", lambda of: _percent(of["under_1s"])),
    ("of them under 2 s old at the start", "twice the capacity", lambda of: _percent(of["under_2s"])),
    ("HTTP 503 for 20 s, 10 arrivals/s: lost", "outage of 20 s", lambda of: _lost(of)),
    ("calls in these 20 s", "outage of 20 s", lambda of: f"{of['calls']:,}"),
    ("imperfect API at 75 % load: succeeded", "imperfect API", lambda of: f"{of['succeeded']:,} of {of['sent']:,}"),
    ("of them more than 15 s old at the start", "imperfect API", lambda of: f"{of['late']:,}"),
    (f"{_QUIET}: lost", _QUIET, lambda of: _lost(of)),
    ("memory after 100 ms runs, without Redis", "runs of 100 ms", lambda of: f"{of['memory']:.0f} MB"),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=sys.modules["bench.peers"].__doc__)
    parser.add_argument("--freshq", type=Path, required=True, help="the command, a release build")
    given = parser.parse_args()
    installed = Installed(given.freshq.resolve(), shutil.which("redis-server"))
    queues = ["freshq", "BullMQ", "flexiq"]
    if installed.redis is None:
        print("BullMQ is not measured: redis-server is not installed (Debian: apt-get install redis-server)")
        queues.remove("BullMQ")
    measured: dict[str, Any] = {"versions": _versions(installed), "queues": _measure(queues, installed)}
    folder = _PROJECT / "target/peers"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(measured, indent=2))
    (_PROJECT / "docs/img/peers.svg").write_text(picture.draw(measured["queues"]))
    print(_table(measured))


def _measure(queues: list[str], installed: Installed) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {name: {} for name in queues}
    for scene, alone in _ALONE.items():
        best = alone.alone()
        for name in queues:
            result = alone.measure(name, installed)
            found[name][scene] = {**result, "share": result["share"] / best, "of_slots": result["share"]}
            print(f"{scene}, {name}: {found[name][scene]}, bare client {best:.3f}", flush=True)
    # These scenes wait more than they compute, so all of them can run at the same time.
    with ThreadPoolExecutor(len(queues) * len(_TOGETHER)) as pool:
        runs = {
            (name, scene): pool.submit(together.measure, name, installed)
            for name in queues
            for scene, together in _TOGETHER.items()
        }
        for (name, scene), run in runs.items():
            found[name][scene] = run.result()
            print(f"{scene}, {name}: {found[name][scene]}", flush=True)
    return found


def _versions(installed: Installed) -> dict[str, str]:
    node_modules = Path(__file__).parent / "node_modules"
    versions = {
        "freshq": _said([installed.freshq, "--version"]).split()[-1],
        "BullMQ": json.loads((node_modules / "bullmq/package.json").read_text())["version"],
        "flexiq": version("flexiq"),
    }
    if installed.redis:
        versions["Redis"] = _said([installed.redis, "--version"]).split("v=")[1].split()[0]
    return versions


def _said(command: list[Any]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _table(measured: dict[str, Any]) -> str:
    queues, versions = measured["queues"], measured["versions"]
    names = [f"{name} {versions[name]}" for name in queues]
    lines = [["", *names], ["---"] * (len(names) + 1)]
    lines += [[title, *(said(of[scene]) for of in queues.values())] for title, scene, said in _ROWS]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _lost(of: dict[str, Any]) -> str:
    return f"{of['sent'] - of['succeeded']} of {of['sent']}"


if __name__ == "__main__":
    main()
