"""The freshq verbs for the agents' queue, on the deployed template."""

from __future__ import annotations

import json
from typing import Any

import commands

from local.agents import DeployedAgents, fresh
from local.emulator import ACCOUNT, REGION, local_environment


def test_an_agent_is_registered_queued_matched_and_finished(agents: DeployedAgents, command: str) -> None:
    environment = local_environment(agents.local_endpoint)
    agent, call, language = fresh("ana"), fresh("call"), fresh("lang")

    def freshq(*arguments: str, code: int = 0) -> Any:
        finished = commands.run(command, environment, *arguments, "--output", "json")
        assert finished.returncode == code, (finished.stdout, finished.stderr)
        return json.loads(finished.stdout) if finished.stdout else finished.stderr

    profile = ["--attributes", f"language={language}", "--attribute", "gender=F"]
    assert freshq("agent", "register", "--id", agent, "--name", "Ana", *profile)["changed"]
    freshq("agent", "available", agent)
    freshq("agent", "enqueue", agent)
    queued = {queue["queue"]: queue["depth"] for queue in freshq("queues")["queues"]}
    assert any(language in name and depth == 1 for name, depth in queued.items())
    listed = commands.run(command, environment, "agents")
    assert agent in listed.stdout and "queued" in listed.stdout

    assigned = freshq("match", "--call", call, "--criteria", f"language={language}")
    assert assigned["status"] == "assigned" and assigned["assignment"]["agentId"] == agent
    assert assigned == freshq("call", call) | {"account": ACCOUNT, "region": REGION}
    ticket = assigned["assignment"]["ticket"]
    assert freshq("agent", "finish", agent, "--call", call, "--ticket", ticket)["changed"]
    assert "rejected" in freshq("agent", "finish", agent, "--call", call, "--ticket", ticket, code=1)
    assert "agentId" in freshq("agent", "available", "a#b", code=2), "the error names the field"


def test_doctor_finds_a_broken_setting_of_the_agents_queue(agents: DeployedAgents, command: str) -> None:
    environment = local_environment(agents.local_endpoint)

    def findings() -> list[str]:
        finished = commands.run(command, environment, "doctor", "--agents", "--output", "json")
        report = json.loads(finished.stdout)
        found = [finding["what"] for finding in report["findings"]]
        assert finished.returncode == bool(found), found
        # Ignores other findings, because other tests leave pending calls and messages in the dead-letter queue.
        return [what for what in found if what.endswith("in the template")]

    assert findings() == []
    client, name = agents.client("lambda"), agents.function("match-calls")
    before = client.get_function_configuration(FunctionName=name)["Timeout"]
    client.update_function_configuration(FunctionName=name, Timeout=before + 1)
    assert findings() == [f"Timeout is {before + 1}, and {before} in the template"]
    client.update_function_configuration(FunctionName=name, Timeout=before)
    assert findings() == []
