"""Invalid commands: the error names the field and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from local.agents import DeployedAgents, fresh
from local.stack import InvocationFailed

AGENT = {"command": "register", "name": "Ana Ruiz"}
CALL = {"command": "match", "callId": "c1"}


@pytest.mark.parametrize(
    ("command", "field"),
    [
        ({}, "command"),
        ({"command": "dance"}, "command"),
        ({"command": "available"}, "agentId"),
        ({"command": "available", "agentId": "a#b"}, "agentId"),
        ({"command": "enqueue", "agentId": 7}, "agentId"),
        ({"command": "leave", "agentId": "ana", "to": "queued"}, "to"),
        ({"command": "finish", "agentId": "ana", "callId": "c1"}, "ticket"),
        ({"command": "finish", "agentId": "ana", "callId": "c1", "ticket": "mine"}, "ticket"),
        ({"command": "seed", "count": 0}, "count"),
        ({"command": "seed", "count": "five"}, "count"),
        ({**AGENT, "attributes": {"language": [], "gender": "M"}}, "language"),
        ({**AGENT, "attributes": {"language": ["Spanish"]}}, "gender"),
        ({**AGENT, "attributes": {"language": ["a*b"], "gender": "M"}}, "language"),
        ({**AGENT, "attributes": {"language": ["x" * 25], "gender": "M"}}, "language"),
        (
            {**AGENT, "attributes": {"language": ["Spanish"], "gender": "M", "site": "B"}},
            "site",
        ),
        ({"command": "register", "attributes": {"language": ["Spanish"], "gender": "M"}}, "name"),
        ({**CALL}, "criteria"),
        ({**CALL, "criteria": {"langauge": "Spanish"}}, "langauge"),
        ({**CALL, "criteria": {"language": "Spa#nish"}}, "language"),
        ({**CALL, "callId": "", "criteria": {"language": "Spanish"}}, "callId"),
        ({"command": "agents", "limit": 0}, "limit"),
    ],
)
def test_the_error_of_an_invalid_command_names_the_field(
    agents: DeployedAgents, command: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvocationFailed) as rejected:
        agents.invoke("agent-desk", command)
    assert "CommandError" in str(rejected.value)
    assert field in str(rejected.value)


def test_the_error_of_an_agent_with_too_many_queues_names_both_numbers(
    agents: DeployedAgents,
) -> None:
    agent_id = fresh("polyglot")
    languages = [f"lang{n}" for n in range(120)]
    with pytest.raises(InvocationFailed) as rejected:
        agents.command(
            "register",
            agentId=agent_id,
            name="Poly Glot",
            attributes={"language": languages, "gender": "M"},
        )
    assert "100" in str(rejected.value) and "120" in str(rejected.value)
    assert agent_id not in agents.agents()


def test_a_command_for_an_unknown_agent_is_rejected(agents: DeployedAgents) -> None:
    agent_id = fresh("unregistered")
    try:
        response = agents.command("enqueue", agentId=agent_id)
    except InvocationFailed as rejected:
        assert agent_id in str(rejected)
    else:
        assert response["changed"] is False and response["rejected"]
