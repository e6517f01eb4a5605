"""Paths in the project tree."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
#: The folder of the programs that npm installs.
NODE_BIN = PROJECT / "node_modules" / ".bin"
#: The folder to which a running local AWS writes its log, process id and shell variables.
STATE = PROJECT / ".local"
#: The cloud assembly with functions built for this machine, written by `make synth-local`.
LOCAL_ASSEMBLY = STATE / "cdk.out"
#: Environment variables for a shell, written by `make local-up`.
ENV_FILE = STATE / "env"
#: Environment variables for `cargo lambda watch`, written by `make local-up`.
WATCH_ENV_FILE = STATE / "watch.env"
#: The process id and endpoint of the local AWS that `make local-up` started.
RUN_FILE = STATE / "run.json"
#: The CDK CLI, in the version pinned in package.json.
CDK = NODE_BIN / "cdk"
