"""An app that uses the package, in a folder outside the repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from local.contract import AGENT_FUNCTIONS, FUNCTIONS
from project.captured import captured
from project.paths import PROJECT

HERE = Path(__file__).parent
ALL_FUNCTIONS = (*FUNCTIONS, *AGENT_FUNCTIONS)
#: The oldest CDK version that the package supports, and this repository's version.
FLOOR = json.loads((PROJECT / "package.json").read_text())["peerDependencies"]["aws-cdk-lib"].removeprefix("^")
LATEST = json.loads((PROJECT / "package.json").read_text())["devDependencies"]["aws-cdk-lib"]
#: The versions of the TypeScript compiler, by the names under which the app installs them.
COMPILERS = {"typescript": "5.9", "typescript6": "6.0", "typescript7": "7.0"}
SECONDS = 600


@dataclass(frozen=True)
class App:
    folder: Path

    def run(self, *command: str, node: str | None = None, **variables: str) -> str:
        """Runs a command with a minimal environment and returns its output. ``node`` is a folder with Node.js."""
        finished = self.attempt(*command, node=node, **variables)
        assert finished.returncode == 0, f"{command}:\n{finished.stdout}\n{finished.stderr}"
        return finished.stdout

    def attempt(
        self, *command: str, node: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Like `run`, but the command may fail."""
        binaries = str(Path(node) / "node_modules" / ".bin") if node else str(Path(_found("node")).parent)
        environment = {"PATH": f"{binaries}:/usr/bin:/bin", "HOME": str(self.folder), **variables}
        return captured(command, cwd=self.folder, env=environment, timeout=SECONDS)


def compile_with(app: App, compiler: str, *options: str) -> None:
    app.run("node", f"node_modules/{compiler}/bin/tsc", "--project", "tsconfig.json", *options)


def installed(folder: Path, *packages: str | Path) -> App:
    """Installs packages into a copy of the app that also contains the files shown in `docs/how-to/test-your-app.md`."""
    shutil.copytree(HERE / "app", folder)
    for file, block in (("lib/quotes-stack.ts", "stack"), ("test/quotes.test.ts", "test")):
        path = folder / "page" / file
        path.parent.mkdir(parents=True)
        path.write_text(_block(block))
    install(folder, *packages)
    return App(folder)


def install(folder: Path, *packages: str | Path) -> None:
    """Installs packages into a folder, from npm's cache if possible."""
    # Without --fetch-timeout, npm waits five minutes for a response before it asks again.
    options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline", "--fetch-timeout=60000"]
    subprocess.run(["npm", "install", *options, *map(str, packages)], cwd=folder, check=True, timeout=SECONDS)


def _block(name: str) -> str:
    page = (PROJECT / "docs" / "how-to" / "test-your-app.md").read_text()
    [code] = re.findall(rf"^```ts {name}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(code)


def _found(name: str) -> str:
    path = shutil.which(name)
    assert path is not None, f"{name} is not installed"
    return path
