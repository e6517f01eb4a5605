"""Starts and stops the emulated AWS (ministack) on the loopback interface."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from project.captured import captured
from project.paths import PROJECT

ACCOUNT = "000000000000"
REGION = "us-east-1"
READY_SECONDS = 60.0
STOP_SECONDS = 10.0

#: Environment variables that would point an AWS client at a real account or another emulator.
_FOREIGN_VARIABLES = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)


#: The path of the certificate that ministack creates, below its temporary directory.
_CERTIFICATE = Path("ministack-tls") / "server.crt"

_DECISIONS = "iam-decisions.jsonl"

#: The program that runs ministack and rejects requests from web pages. ministack is never started directly.
_PROGRAM = "local.serving"


class EmulatorError(RuntimeError):
    """Raised if the local AWS can't be started. The message contains the reason and the location of its log."""


def client_variables(endpoint: str) -> dict[str, str]:
    """The environment variables that make AWS SDKs, the AWS CLI and the CDK CLI use `endpoint`.

    The credentials are fake. The emulator takes the account from the access key id.
    """
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def local_environment(endpoint: str) -> dict[str, str]:
    """This process's environment, modified so that AWS clients use `endpoint` and never a real account."""
    environment = {k: v for k, v in os.environ.items() if k not in _FOREIGN_VARIABLES}
    # A deployment to the emulator must not read the user's own profiles.
    environment["AWS_CONFIG_FILE"] = os.devnull
    environment["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    # Requests to the loopback interface must not go through a proxy.
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = ",".join(filter(None, [environment.get(name), "127.0.0.1"]))
    environment.update(client_variables(endpoint))
    return environment


@dataclass
class Emulator:
    """A running local AWS: its endpoint, its process id, and its working directory. Stops at the end of a `with` block."""

    endpoint: str
    pid: int
    directory: Path

    @property
    def decisions(self) -> Path:
        """The file with the emulator's authorization decisions, if it enforces IAM; see `local.decisions`."""
        return self.directory / _DECISIONS

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stops the emulator and the functions that it started, and removes its working directory."""
        stop_process_group(self.pid)
        shutil.rmtree(self.directory / "tmp", ignore_errors=True)


def start(directory: Path, enforced: bool = False, schedules: bool = True) -> Emulator:
    """Starts the emulator on a free port of 127.0.0.1 and waits until it responds.

    `directory` doesn't have to exist. The emulator writes its log (``ministack.log``) and temporary files there. The
    process leads its own process group, so that :meth:`Emulator.stop` also ends the functions.

    With `enforced`, the emulator uses TLS and enforces IAM policies. Only the fake credentials of
    :func:`client_variables` allow everything, like an account's root user. From then on, this process and its children
    trust only the emulator's certificate.

    Without `schedules`, no schedule fires, and tests invoke the scheduled functions themselves.
    """
    if not (Path(sys.executable).parent / "ministack").exists():
        raise EmulatorError("ministack is not installed in this environment: run `make setup`")
    temporary = (directory / "tmp").resolve()
    temporary.mkdir(parents=True, exist_ok=True)
    if enforced:
        _trust(temporary / _CERTIFICATE)
    port = _free_port()
    endpoint = f"{'https' if enforced else 'http'}://127.0.0.1:{port}"
    environment = local_environment(endpoint) | {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "PERSIST_STATE": "0",
        "PYTHONPATH": str(PROJECT),
        # Lambda sets this environment variable for each function. The emulator doesn't set it, but its functions
        # inherit the emulator's environment.
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        # Otherwise, ministack's MQTT broker for devices would listen on every interface.
        "IOT_MTLS_ENABLED": "0",
        "TMPDIR": str(temporary),
        "LOG_LEVEL": os.environ.get("LOCAL_AWS_LOG_LEVEL", "WARNING"),
    }
    if not schedules:
        environment["FRESHQ_SCHEDULES"] = "off"
    if enforced:
        decisions = (directory / _DECISIONS).resolve()
        decisions.write_text("")
        environment |= {
            "AUTH": "true",
            "USE_SSL": "1",
            "FRESHQ_IAM_DECISIONS": str(decisions),
        }
    log_path = directory / "ministack.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    emulator = Emulator(endpoint, process.pid, directory)
    try:
        _wait_until_ready(process, endpoint, log_path)
    except BaseException as error:
        emulator.stop()
        # Another process can take the port between its selection and its use.
        if isinstance(error, EmulatorError) and "already in use" in str(error):
            return start(directory, enforced, schedules)
        raise
    return emulator


def is_running(pid: int) -> bool:
    """Whether `pid` is a running emulator of this project rather than another process with a reused id."""
    listing = captured(["ps", "-p", str(pid), "-o", "command="])
    # An earlier version of this project started ministack directly, under the name `ministack`.
    ours = _PROGRAM in listing.stdout or "ministack" in listing.stdout
    return ours and "<defunct>" not in listing.stdout


def stop_process_group(pid: int) -> None:
    """Ends the process group of `pid` with SIGTERM, followed by SIGKILL after `STOP_SECONDS`."""
    if not _signal_group(pid, signal.SIGTERM):
        return
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        _reap(pid)
        if not _signal_group(pid, 0):
            return
        time.sleep(0.05)
    _signal_group(pid, signal.SIGKILL)
    _reap(pid)


def _signal_group(pid: int, number: int) -> bool:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return  # An earlier command started it, so it is not a child of this process.


def _trust(certificate: Path) -> None:
    """Makes this process and its children trust `certificate`, which the emulator creates on startup."""
    if shutil.which("openssl") is None:
        raise EmulatorError(
            "openssl is missing: the local AWS creates its certificate with it."
            " Debian, Ubuntu: apt-get install openssl. macOS has it."
        )
    # Environment variables for boto3, the CDK CLI and the Rust programs, in this order.
    for variable in ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
        os.environ[variable] = str(certificate)


def _responds(endpoint: str) -> bool:
    """Whether the emulator is ready. Raises `OSError` while no server is listening."""
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if endpoint.startswith("https:"):
        context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
        handlers.append(urllib.request.HTTPSHandler(context=context))
    with urllib.request.build_opener(*handlers).open(f"{endpoint}/_ministack/health", timeout=2) as response:
        return response.status == 200


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_ready(process: subprocess.Popen, endpoint: str, log_path: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            tail = log_path.read_text(errors="replace")[-2000:]
            raise EmulatorError(f"the local AWS ended with code {process.returncode}:\n{tail}")
        try:
            if _responds(endpoint):
                return
        except OSError:
            pass  # The emulator isn't listening yet, or hasn't created its certificate.
        time.sleep(0.1)
    raise EmulatorError(f"the local AWS did not respond within {READY_SECONDS:.0f} s; see {log_path}")
