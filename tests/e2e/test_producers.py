"""Runs every snippet of docs/how-to/producers.md and docs/reference/create-tasks.md unchanged."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

import apps
import pytest
from commands import run as run_freshq
from expectations import number, wait_for

from local.emulator import Emulator, local_environment
from local.queue import DeployedQueue
from local.waiting import now_ms
from project.paths import PROJECT, STATE

DOCUMENT = PROJECT / "docs" / "how-to" / "producers.md"
REFERENCE = PROJECT / "docs" / "reference" / "create-tasks.md"
STACK = "Producers"
#: A function that runs the snippet with this language and name, and returns its output.
Run = Callable[[str, str], str]


def snippets(language: str, name: str | None = None) -> list[str]:
    """The document's code blocks in a language, or only those with `name`. Named TypeScript is in the reference."""
    document = REFERENCE if language == "typescript" else DOCUMENT
    tag = re.escape(language if name is None else f"{language} {name}")
    return re.findall(rf"^```{tag}\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def producers(local_aws: Emulator) -> DeployedQueue:
    """The document's CDK app, type-checked, synthesized and deployed."""
    return apps.deployed(local_aws, STACK, "\n".join(snippets("ts")))


@pytest.fixture(scope="module")
def run(producers: DeployedQueue) -> Run:
    """Runs a snippet with the stack outputs in its environment, such as `TOPIC_ARN` for `TopicArn`."""
    outputs = {constant(name): value for name, value in producers.outputs.items()}
    identifier = (urlsplit(producers.outputs["CreateTasksUrl"]).hostname or "").split(".")[0]
    # Uses the emulator's path for a function URL, because the URL's host resolves only on AWS.
    outputs["CREATE_TASKS_URL"] = f"{producers.endpoint}/_aws/lambda-url/{identifier}/"
    environment = local_environment(producers.local_endpoint) | outputs
    directory = STATE / "producers"
    commands = {"python": [sys.executable], "js": ["node"], "typescript": [str(apps.TOOLS / "tsx")]}
    suffixes = {"python": "py", "js": "mjs", "typescript": "mts"}

    def run_snippet(language: str, name: str) -> str:
        (source,) = snippets(language, name)
        path = directory / f"{name}.{suffixes[language]}"
        path.write_text(source)
        return apps.output_of([*commands[language], path.name], directory, environment)

    return run_snippet


def test_messages_to_the_ingest_queue(producers: DeployedQueue, run: Run) -> None:
    run("python", "sqs")
    wait_for(producers, ["meter-17", "meter-18"])


def test_typescript_sends_messages_to_the_ingest_queue(producers: DeployedQueue, run: Run) -> None:
    run("typescript", "sqs")
    wait_for(producers, ["refresh-ACME", "refresh-EMCA"])


def test_typescript_invokes_create_tasks(producers: DeployedQueue, run: Run) -> None:
    assert run("typescript", "invoke") == "quote-17\n"
    wait_for(producers, ["quote-17"])
    assert run("typescript", "invoke") == "\n", "the task is a duplicate"


def test_python_creates_tasks_through_a_topic(producers: DeployedQueue, run: Run) -> None:
    run("python", "sns")
    wait_for(producers, ["quote-4711"])


def test_python_creates_tasks_through_an_event_bus(producers: DeployedQueue, run: Run) -> None:
    event_id = run("python", "eventbridge").strip()
    wait_for(producers, [event_id])
    item = producers.item(event_id)
    assert item is not None
    assert item["payload"]["M"]["order"] == {"N": "4711"}
    assert item["payload"]["M"]["total"] == {"N": "12.5"}


def test_python_creates_tasks_through_the_function_url(producers: DeployedQueue, run: Run) -> None:
    status, _, body = run("python", "url").partition(" ")
    assert status == "200"
    assert json.loads(body)["created"] == [{"index": 0, "taskId": "refresh-4711"}]
    wait_for(producers, ["refresh-4711"])
    status, _, body = run("python", "url").partition(" ")
    assert status == "200" and json.loads(body)["duplicates"][0]["taskId"] == "refresh-4711"


@pytest.mark.parametrize(("language", "task_id"), [("python", "python-4711"), ("js", "node-4711")])
def test_plain_put_creates_a_task_once(producers: DeployedQueue, run: Run, language: str, task_id: str) -> None:
    run(language, "putitem")
    wait_for(producers, [task_id])
    done = producers.item(task_id)
    assert done is not None and now_ms() - number(done, "taskCreated") < 60_000
    # The second put finds the existing task. The snippet succeeds and does not change the task.
    run(language, "putitem")
    assert producers.item(task_id) == done


def test_freshq_finds_the_queue_by_the_outputs_of_its_stack(producers: DeployedQueue, command: str) -> None:
    status = run_freshq(command, local_environment(producers.local_endpoint), "status", "--stack", STACK)
    assert status.returncode == 0, status.stderr
    assert STACK in status.stdout


def test_the_document_has_a_rust_snippet_that_is_compiled_but_not_run() -> None:
    (rust,) = snippets("rust,no_run")
    assert "attribute_not_exists(taskId)" in rust


def constant(name: str) -> str:
    """Converts `TopicArn` to `TOPIC_ARN`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
