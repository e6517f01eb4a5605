"""Paths in the project's tree."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
#: The programs of node_modules.
NODE_BIN = PROJECT / "node_modules" / ".bin"
#: The folder to which a running local AWS writes its log, its process id and the variables for shells.
STATE = PROJECT / ".local"
#: The cloud assembly with functions built for this machine, as `make synth-local` writes it.
LOCAL_ASSEMBLY = STATE / "cdk.out"
#: Variables for a shell, written by `make local-up`.
ENV_FILE = STATE / "env"
#: Variables for `cargo lambda watch`, written by `make local-up`.
WATCH_ENV_FILE = STATE / "watch.env"
#: The process id and endpoint of the local AWS that `make local-up` started.
RUN_FILE = STATE / "run.json"
#: The CDK CLI of the version that package.json pins.
CDK = NODE_BIN / "cdk"
