"""Finds and fixes the cause of an alarm with only the alarm's text and the runbook.

Each test causes the condition of an alarm. Then it runs the command in the alarm's text, and the commands in the
section of the runbook that the text names, as printed there.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import commands
import pytest
from expectations import wait_for

from local.agents import DeployedAgents, fresh
from local.assembly import Assembly
from local.crew import Crew, wait_for_call
from local.emulator import local_environment
from local.http_endpoint import http_endpoint
from local.paths import PROJECT
from local.queue import DeployedQueue
from local.stack import DeployedStack
from local.waiting import wait_until


@dataclass
class OnCall:
    """An operator with a terminal, the text of an alarm and the section of the runbook that it names."""

    stack: DeployedStack
    command: str
    text: str

    @property
    def section(self) -> str:
        """The section of the runbook."""
        ((page, title),) = re.findall(r'More: (docs/\S+), "(.+)"\.$', self.text)
        _, _, rest = (PROJECT / page).read_text().partition(f"\n## {title}\n")
        return re.split(r"^##", rest, flags=re.MULTILINE)[0]

    def printed(self, after: str, before: str) -> list[str]:
        """The commands between two marks of the section."""
        _, _, rest = self.section.partition(after)
        span = rest.partition(before)[0]
        return re.findall(r"`((?:freshq|aws) [^`]+)`", span.replace("\n  ", " "))

    def first(self) -> str:
        """Run the first command in the alarm's text; returns its output."""
        return self.run(re.findall(r"freshq [^.,:]+ --stack [\w-]+", self.text)[0])

    def look(self, **values: str) -> str:
        """Run the commands in the alarm's text, then those of the first look; returns their output."""
        first = re.findall(r"freshq [^.,:]+ --stack [\w-]+", self.text)
        assert first, self.text
        lines = first + self.printed("- **First look**", "- **Do**")
        # A command with the placeholder of a value that is not known yet is for another answer.
        known = [line for line in lines if set(re.findall(r"<(\w+)>", line)) <= {"env", *values}]
        known = [line for line in known if not line.startswith("freshq logs")]
        return "\n".join(self.run(line, **values) for line in known)

    def do(self, beginning: str, **values: str) -> str:
        """Run the command of the remedy that begins like this; returns its output."""
        (line,) = {line for line in self.printed("- **Do**", "- **Over**") if line.startswith(beginning)}
        return self.run(line, **values)

    def run(self, line: str, **values: str) -> str:
        """Run a command as printed, with values for its placeholders; returns its output."""
        for name, value in {"env": "dev", **values}.items():
            line = line.replace(f"<{name}>", value)
        program, *arguments = shlex.split(line)
        assert "<" not in line, line
        if program == "aws":
            return self._aws(*arguments)
        ran = commands.run(self.command, local_environment(self.stack.local_endpoint), *arguments)
        assert ran.returncode in (0, 1), (line, ran.stdout, ran.stderr)
        return ran.stdout

    def _aws(self, service: str, operation: str, *options: str) -> str:
        """Run a command of the AWS CLI with boto3."""
        pairs = zip(options[::2], options[1::2], strict=True)
        words = {"".join(word.title() for word in name[2:].split("-")): value for name, value in pairs}
        given: dict[str, Any] = {name: int(value) if value.isdigit() else value for name, value in words.items()}
        return str(getattr(self.stack.client(service), operation.replace("-", "_"))(**given))


def alarm(template: Assembly, name: str) -> str:
    """The text of an alarm."""
    (text,) = [
        alarm.properties["AlarmDescription"]
        for alarm in template.resources("AWS::CloudWatch::Alarm")
        if alarm.attributes["Metadata"]["aws:cdk:path"].split("/")[-2] == f"{name}-alarm"
    ]
    return text


@pytest.fixture
def tasks(queue: DeployedQueue, template: Assembly, command: str) -> Iterator[Any]:
    """On call for an alarm of the task queue. Before and after, the queue is idle and its failure queues are empty."""

    def freshq(*arguments: str) -> None:
        commands.run(command, local_environment(queue.local_endpoint), *arguments)

    queue.wait_until_idle()
    queue.empty_queues()
    before = queue.environment("process-tasks")
    yield lambda name: OnCall(queue, command, alarm(template, name))
    # After a failed test tasks may be left. They run with the deployed settings again.
    freshq("pause", "--for", "10m", "--reason", "the end of a test")
    queue.replace_environment("process-tasks", before)
    freshq("breaker", "close")
    freshq("resume")
    queue.wait_until_idle()
    queue.empty_queues()


def runs_on(queue: DeployedQueue, url: str) -> None:
    """Make the queue send its tasks to this endpoint."""
    queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps({"kind": "http", "url": url})})


def create(queue: DeployedQueue, count: int) -> list[str]:
    answer = queue.create([{"payload": {"number": n}} for n in range(count)])
    assert answer["failed"] == []
    return [created["taskId"] for created in answer["created"]]


def test_the_downstream_is_unavailable(queue: DeployedQueue, tasks: Any) -> None:
    answers = [502]
    with http_endpoint(lambda *_: (answers[0], {})) as url:
        runs_on(queue, url)
        ids = create(queue, 40)
        on_call = tasks("breaker-open")
        wait_until(lambda: "breakerSince" in (queue.item("#processor") or {}), 30, "an open breaker")
        wait_until(lambda: bool(re.search(r"last response .*HTTP 502", on_call.first())), 30, "the response in the first command")
        found = on_call.look()
        assert re.search(r"circuit breaker +open since .*HTTP 502", found), found
        assert re.search(r"(?m)^\S+ .* HTTP 502", found), found

        answers[0] = 200
        assert "the circuit breaker is closed" in on_call.do("freshq breaker close")
        wait_for(queue, ids)
        # The processor writes the breaker's state with its next heartbeat, or when it ends.
        queue.wait_until_idle()
        assert re.search(r"circuit breaker +closed", on_call.look())


def test_the_downstream_rejects_the_tasks(queue: DeployedQueue, tasks: Any) -> None:
    answers = [422]
    with http_endpoint(lambda *_: (answers[0], {})) as url:
        runs_on(queue, url)
        ids = create(queue, 6)
        wait_for(queue, ids, "FAILURE")
        on_call = tasks("failing")
        assert re.search(r"FAILURE \d+ .*HTTP 422", on_call.first()), "the first command groups the errors"
        found = on_call.look(id=ids[0])
        assert all(task in found for task in ids) and "HTTP 422" in found, found
        assert '"number": 0' in found, "the payload of one of them"

        assert "paused until" in on_call.do("freshq pause")
        answers[0] = 200
        assert "resumed" in on_call.do("freshq resume")
        text = shlex.quote("HTTP 422")
        (dry, redrive) = [line for line in on_call.printed("- **Do**", "- **Over**") if "redrive" in line]
        assert all(task in on_call.run(dry, text=text) for task in ids)
        assert [queue.status(task) for task in ids] == ["FAILURE"] * len(ids)
        on_call.run(f"{redrive} --yes", text=text)
        wait_for(queue, ids)


def test_the_downstream_rejects_the_credentials(queue: DeployedQueue, tasks: Any) -> None:
    answers = [401]
    with http_endpoint(lambda *_: (answers[0], {})) as url:
        runs_on(queue, url)
        ids = create(queue, 6)
        on_call = tasks("paused")
        wait_until(lambda: "pausedUntil" in (queue.item("#processor") or {}), 30, "a pause")
        wait_until(lambda: bool(re.search(r"paused .*by a processor.*HTTP 401", on_call.first())), 30, "the response in the reason")

        answers[0] = 200
        ended = on_call.do("freshq resume")
        assert "resumed" in ended and "the ended pause: " in ended, ended
        wait_for(queue, ids)
        assert re.search(r"paused +no\b", on_call.first())


def test_an_operator_paused_the_queue(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("paused")
    on_call.run('freshq pause --env <env> --for 10m --reason "a new release"')
    found = on_call.first()
    assert re.search(r"paused +until .*: a new release \(by \S+ at \d{4}-", found), found
    on_call.do("freshq resume")
    assert re.search(r"paused +no\b", on_call.first())


def test_the_downstream_is_slow(queue: DeployedQueue, tasks: Any) -> None:
    runner = {"kind": "simulated", "capacity": 2, "durationMs": 3000}
    queue.set_environment("process-tasks", {"TASK_RUNNER": json.dumps(runner)})
    create(queue, 90)
    on_call = tasks("oldest-pending")
    slow = r"run time +median 3s"
    wait_until(lambda: bool(re.search(slow, on_call.first())), 40, "the run time in the first command")
    found = on_call.first()
    # Tasks of earlier tests may have been created and have ended in the same minute.
    rates = re.search(r"created +([\d.]+)/s(?s:.*)ended +([\d.]+)/s succeeded, ([\d.]+)/s failed", found)
    assert rates, found
    created, succeeded, failed = map(float, rates.groups())
    assert created > succeeded + failed, found
    found = on_call.look()
    assert re.search(r"\d+ were created and \d+ ended in the last 60 s; the median run takes", found), found


def test_one_producer_floods_the_queue(queue: DeployedQueue, tasks: Any) -> None:
    on_call = tasks("oldest-pending")
    on_call.run('freshq pause --env <env> --for 10m --reason "a flood"')
    flood = [{"payload": {"producer": "import", "number": n}} for n in range(20)]
    queue.create([*flood, {"taskId": "an order", "payload": {"producer": "shop"}}])
    wait_until(lambda: bool(re.search(r"PENDING +21\b", on_call.first())), 30, "the depth")
    assert '"producer":"import"' in on_call.run("freshq list --env <env>").replace(": ", ":")
    dry = on_call.do("freshq cancel --env <env> --payload", text="import")
    assert "tasks to cancel: 20" in dry, dry
    done = on_call.run("freshq cancel --env <env> --payload import --yes")
    assert "cancelled: 20" in done, done
    on_call.run("freshq resume --env <env>")
    wait_for(queue, ["an order"])


def test_an_invalid_message_is_in_the_dead_letter_queue(queue: DeployedQueue, tasks: Any) -> None:
    sent = queue.client("sqs").send_message(
        QueueUrl=queue.outputs["IngestQueueUrl"], MessageBody=json.dumps({"taskId": "a task", "ttlSecond": 60})
    )
    on_call = tasks("ingest-dead-letters")
    wait_until(lambda: sent["MessageId"] in on_call.look(), 30, "the message with its reason")
    found = on_call.look()
    assert re.search(r"reason +.*ttlSecond", found), found
    (message,) = set(re.findall(r"(?m)^id +(\S+)", found))
    assert f"message {message} deleted" in on_call.do("freshq messages --env", id=message)
    assert "no messages in" in on_call.look()


def test_no_processor_may_start(queue: DeployedQueue, tasks: Any) -> None:
    name = queue.function("process-tasks")
    queue.client("lambda").put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    ids = create(queue, 3)
    on_call = tasks("oldest-pending")
    found = on_call.look()
    assert re.search(r"PENDING +[1-9]", found) and re.search(r"processor +none", found), found
    assert "ReservedConcurrentExecutions is 0, and 2 in the template" in found, found

    (remedy,) = set(re.findall(r"remedy: (aws lambda put-function-concurrency [^;]+);", found))
    on_call.run(remedy)
    # The notification of the creation is lost. Its start marker prevents others for 10 s.
    wait_until(lambda: "has just notified" not in on_call.do("freshq wake"), 30, "another notification", every=2)
    wait_for(queue, ids)
    assert "ReservedConcurrentExecutions" not in on_call.look()


def test_a_matching_agent_is_not_queued(agents: DeployedAgents, agents_template: Assembly, command: str) -> None:
    on_call = OnCall(agents, command, alarm(agents_template, "oldest-waiting"))
    # The id `0…` is listed before the agents of other tests.
    crew, agent, call = Crew(agents), fresh("0"), fresh("call")
    profile = {"language": [crew.language], "gender": crew.gender}
    agents.command("register", agentId=agent, name="Ana", attributes=profile)
    agents.command("available", agentId=agent)
    crew.send(call)
    wait_for_call(agents, call, "waiting")
    found = on_call.look()
    assert re.search(rf"{crew.language}, {crew.gender} +1 +0\b", found), found
    assert re.search(rf"{agent} +Ana +available .*language: {crew.language}", found), found

    on_call.do("freshq agent enqueue", agentId=agent)
    assigned = wait_for_call(agents, call, "assigned")["assignment"]
    assert assigned["agentId"] == agent
    agents.command("finish", agentId=agent, callId=call, ticket=assigned["ticket"])
    agents.command("leave", agentId=agent, to="offline")
