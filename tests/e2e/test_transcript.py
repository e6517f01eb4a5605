"""Compares the output of each verb of freshq on the deployed templates with transcript.txt.

The transcript contains every verb of ``freshq --help``, except those in ELSEWHERE. Times, durations and random ids are
masked. ``FRESHQ_WRITE_TRANSCRIPT=1`` writes the file.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import commands
from expectations import wait_for

from local.agents import DeployedAgents
from local.emulator import local_environment
from local.queue import DeployedQueue

TRANSCRIPT = Path(__file__).with_name("transcript.txt")
#: The verbs that the transcript omits, each with the reason.
ELSEWHERE = {
    "cost": "reads no queue; its own tests compare its output",
    "console": "serves a page until Ctrl-C; tests/console tests it in a browser",
    "dev": "serves a queue until Ctrl-C",
    "groups": "shows more in a queue with groups; test_groups.py reads it",
    "logs": "starts the AWS CLI",
    "smoke": "its figures differ per run; test_operate.py and tests/smoke run it",
}
FAILS = {"simulate": {"outcome": "fail"}}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<time>"),
    (re.compile(r"\b(\d+(\.\d+)?(ms|s|m|h|days?)\b ?)+"), "<duration> "),
    (re.compile(r"\b1[789]\d{8}(\d{3}){0,2}\b"), "<timestamp>"),
    (re.compile(r"^http\S+/LifoQueue-dev-\S+", re.MULTILINE), "<url of the queue>"),
    (re.compile(r"(?<=created: )[\d.]+(?=/s)"), "<rate>"),
    (re.compile(r"(?<=created )[\d.]+(?=/s)|(?<=succeeded )[\d.]+(?=/s)|(?<=failed )[\d.]+(?=/s)"), "<rate>"),
    (re.compile(r"[\d.]+(?=/s (succeeded|failed|in the last))"), "<rate>"),
    (re.compile(r"\b(run time|last response|suspects) {2,}.*"), r"\1  <earlier>"),
    (re.compile(r"(?<=median run: )\S.*"), "<duration>"),
    (re.compile(r"^│(response|summary) .*\n", re.MULTILINE), ""),
    # These values depend on earlier tests on the same queue.
    (
        re.compile(
            r"\b(summary|wake-ups requested|last notification|burst allowance|redriven tasks|(?:idle turns in a row|limit on concurrency)) {2,}.*"
        ),
        r"\1  <earlier>",
    ),
    (re.compile(r"; concurrency \d+"), ""),
    (re.compile(r"(?<=settings checked: )\d+|(?<=not checked: )\d+"), "<count>"),
    (re.compile(r'(?<="queued": )\d+'), "<count>"),
    (re.compile(r"(?<=deleted: )\d+.*"), "<count>"),
    (re.compile(r"^(│[▁▂▃▄▅▆▇█ ]+│)+\n", re.MULTILINE), ""),
    (re.compile(r"[-─]{3,}"), "---"),
    (re.compile(r"[ \t]+(?=\n|$)"), ""),
    (re.compile(r"(?<=\S) {2,}"), "  "),
)


class Session:
    """Runs verbs one after the other and records their output."""

    def __init__(self, command: str, environment: dict[str, str], table: str, folder: Path) -> None:
        self.lines: list[str] = []
        self._command = command
        self._environment = environment
        self._table = table
        self._folder = folder

    def run(self, *arguments: str, only: str | None = None, without: str | None = None) -> str:
        """Runs a verb and records its output.

        With `only`, records the first line and the lines that contain this text. With `without`, omits the lines that
        start with this text. Returns the standard output.
        """
        ran = commands.run(self._command, self._environment, *arguments)
        shown = ran.stdout + ran.stderr
        if only:
            first, *rest = shown.splitlines(keepends=True)
            shown = "".join([first, *(line for line in rest if only in line)])
        if without:
            shown = "".join(line for line in shown.splitlines(keepends=True) if not line.startswith(without))
        line = self._named(shlex.join(["freshq", *arguments]))
        shown = self._named(shown)
        for mask, text in MASKS:
            shown = mask.sub(text, shown)
        self.lines += [f"$ {line}", *shown.splitlines(), f"exit code {ran.returncode}", ""]
        return ran.stdout

    def _named(self, text: str) -> str:
        return UUID.sub("<uuid>", text.replace(self._table, "<table>").replace(str(self._folder), "<folder>"))


def tasks(session: Session, queue: DeployedQueue) -> None:
    """Runs every verb of the task queue."""
    session.run("pause", "--for", "10m", "--reason", "to look at pending tasks")
    session.run("purge", "--confirm", queue.outputs["QueueTableName"])
    session.run("create", "--id", "order-1", "--payload", '{"order": 1}', "--ttl", "1h")
    session.run("create", "--id", "order-2", "--payload", json.dumps(FAILS), "--ttl", "1h")
    session.run("create", "--id", "order-2", "--payload", json.dumps(FAILS), "--ttl", "1h")
    session.run("create", "--id", "order-3", "--payload", '{"order": 3}', "--ttl", "1h")
    session.run("list")
    session.run("show", "order-1")
    session.run("export", "--status", "pending")
    session.run("watch", "--once")
    session.run("cancel", "--payload", '"order":3', "--dry-run")
    session.run("cancel", "order-3", "order-4")
    session.run("wake")
    session.run("breaker", "open", "--for", "10m", "--reason", "a new release")
    session.run("status")
    session.run("breaker", "close")
    session.run("limit", "--rate", "5", "--for", "10m", "--reason", "a migration")
    session.run("limit", "--off")
    session.run("resume")
    wait_for(queue, ["order-1"])
    wait_for(queue, ["order-2"], "FAILURE")
    queue.wait_until_idle()
    session.run("list", "--status", "failure", "--error", "payload asked")
    session.run("errors")
    session.run("show", "order-2")
    session.run("redrive", "--error", "payload asked", "--dry-run")
    session.run("redrive", "order-2", "order-1", "--ttl", "30m")
    wait_for(queue, ["order-2"], "FAILURE")
    queue.wait_until_idle()
    session.run("status")
    session.run("wake")
    queue.wait_until_idle()
    queue.client("sqs").send_message(
        QueueUrl=queue.outputs["IngestDeadLetterQueueUrl"],
        MessageBody='{"ttl": 0}',
        MessageAttributes={"reason": {"DataType": "String", "StringValue": "ttl: it is in the past"}},
    )
    session.run("messages")
    queue.empty_queues()
    session.run("messages")
    session.run("doctor", without="not checked: ")


def agents_and_calls(session: Session) -> None:
    """Runs every verb of the agents' queue. At the end, all agents are offline."""
    profile = ["--attributes", "language=Transcript", "--attribute", "gender=F"]
    session.run("agent", "register", "--id", "ana", "--name", "Ana Transcript", *profile)
    session.run("agent", "available", "ana")
    session.run("agent", "enqueue", "ana")
    session.run("agents", only="Ana Transcript")
    session.run("queues", only="Transcript")
    matched = session.run("match", "--call", "call-1", "--criteria", "language=Transcript")
    of_call = ["ana", "--call", "call-1", "--ticket", json.loads(matched)["assignment"]["ticket"]]
    session.run("call", "call-1")
    session.run("agent", "enqueue", "ana")
    session.run("agent", "extend", *of_call)
    session.run("agent", "finish", *of_call)
    session.run("agent", "finish", *of_call)
    session.run("agent", "leave", "ana", "--to", "offline")
    session.run("match", "--call", "call-2", "--criteria", "language=Transcript")
    session.run("queues", only="Transcript")
    session.run("calls", only="Transcript")
    session.run("call", "call-2", "--cancel")
    session.run("call", "call-2")
    seeded = session.run("agent", "seed", "2")
    session.run("agent", "queue-all-available", only='"queued"')
    for agent in seeded.splitlines()[1:-1]:
        session.run("agent", "leave", agent.split()[0], "--to", "offline", only='"status"')
    session.run("messages", "--agents")
    session.run("doctor", "--agents", without="not checked: ")


def for_the_shell(session: Session, folder: Path) -> None:
    """Runs the verbs that don't require a queue."""
    session.run("completions", "bash", only="complete -F")
    session.run("man", str(folder))


def test_each_verb_prints_the_output_in_the_transcript(
    queue: DeployedQueue, unchanged: None, agents: DeployedAgents, command: str, tmp_path: Path
) -> None:
    """First empties the failure queues, because doctor reports messages left by earlier tests."""
    queue.wait_until_idle()
    for stack in (queue, agents):
        stack.empty_queues()
    session = Session(command, local_environment(agents.local_endpoint), queue.outputs["QueueTableName"], tmp_path)
    try:
        tasks(session, queue)
        for call in agents.command("calls", limit=100)["calls"]:
            agents.command("cancel-call", callId=call["callId"])  # Left by earlier tests, so doctor would report it.
        agents_and_calls(session)
        for_the_shell(session, tmp_path)
    finally:
        commands.run(command, local_environment(queue.local_endpoint), "resume")
    transcript = "\n".join(session.lines)
    if os.environ.get("FRESHQ_WRITE_TRANSCRIPT") == "1":
        TRANSCRIPT.write_text(transcript)
    assert transcript == TRANSCRIPT.read_text()


def verbs(command: str, *before: str) -> set[str]:
    """The verbs in a command's help. A verb with subcommands is replaced with its subcommands."""
    shown = subprocess.run([command, *before, "-h"], capture_output=True, text=True, check=True).stdout
    _, _, listed = shown.partition("\nCommands:\n")
    names = set(re.findall(r"^  (\S+)", listed.split("\n\n")[0], re.MULTILINE)) - {"help"}
    below = {name: verbs(command, *before, name) for name in names}
    return {" ".join(filter(None, [name, verb])) for name in names for verb in below[name] or {""}}


def test_every_verb_is_in_the_transcript(command: str) -> None:
    lines = TRANSCRIPT.read_text().splitlines()
    known = verbs(command)
    assert {"status", "breaker open", "agent seed"} <= known
    there = {verb for verb in known if any(f"{line} ".startswith(f"$ freshq {verb} ") for line in lines)}
    assert known - there == set(ELSEWHERE)
