"""Commands that are no commands: the error names the field and says what to do."""

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
def test_a_malformed_command_is_refused_by_its_field(
    agents: DeployedAgents, command: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvocationFailed) as refused:
        agents.invoke("agent-desk", command)
    assert "CommandError" in str(refused.value)
    assert field in str(refused.value)


def test_an_agent_with_more_queues_than_a_transaction_has_items_is_refused_with_the_arithmetic(
    agents: DeployedAgents,
) -> None:
    agent_id = fresh("polyglot")
    languages = [f"lang{n}" for n in range(120)]
    with pytest.raises(InvocationFailed) as refused:
        agents.command(
            "register",
            agentId=agent_id,
            name="Poly Glot",
            attributes={"language": languages, "gender": "M"},
        )
    assert "100" in str(refused.value) and "120" in str(refused.value)
    assert agent_id not in agents.agents()


def test_an_agent_nobody_knows_is_said_to_be_unknown(agents: DeployedAgents) -> None:
    agent_id = fresh("nobody")
    try:
        answer = agents.command("enqueue", agentId=agent_id)
    except InvocationFailed as refused:
        assert agent_id in str(refused)
    else:
        assert answer["changed"] is False and answer["refused"]
