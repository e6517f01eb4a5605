"""Desk commands: the assigned agent, its queues, and its lease expiry."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from expectations import sweep_until

from local.agents import Counters, DeployedAgents, by_turn, fits, fresh, queues_of
from local.crew import Crew, status
from local.queue_reader import QueueReader


def test_the_demonstration_of_the_published_sample(agents: DeployedAgents, assignments: QueueReader) -> None:
    known = set(agents.agents())
    agents.command("seed", count=5)
    pool = {agent_id: a for agent_id, a in agents.agents().items() if agent_id not in known}
    assert len(pool) == 5 and {agent["status"] for agent in pool.values()} == {"available"}
    names = {name for agent in pool.values() for name in queues_of(agent)}
    before = agents.queues()
    assert names <= before.keys() and all(before[name].depth == 0 for name in names)

    response = agents.command("queue-all-available")
    assert response["queued"] >= 5 and response["assignments"] == []
    queued = agents.queues()
    for name in names:
        due = [a["agentId"] for a in by_turn(pool.values()) if name in queues_of(a)]
        assert agents.members(name) == due
        assert queued[name] == Counters(len(due), before[name].version + len(due))

    criteria = {"language": "Spanish", "gender": "M"}
    longest = next(agent for agent in by_turn(pool.values()) if fits(agent, criteria))
    call_id = fresh("call")
    first = agents.command("match", callId=call_id, criteria=criteria)
    assert first["status"] == "assigned"
    assert first["assignment"]["agentId"] == longest["agentId"]
    assert first["assignment"]["agentName"] == longest["name"]
    assert first["assignment"]["criteria"] == "Spanish#M"
    after = agents.queues()
    for name in names:
        left = 1 if name in queues_of(longest) else 0
        assert after[name] == Counters(queued[name].depth - left, queued[name].version + left)
        assert longest["agentId"] not in agents.members(name)
    assert status(agents, longest["agentId"]) == "attendingCall"

    assert agents.command("match", callId=call_id, criteria=criteria) == first
    assert agents.queues() == after
    published = assignments.wait_for(
        lambda message: message.attributes.get("callId") == call_id, 20, "the assignment"
    )
    assert [message.json() for message in published] == [first["assignment"]]


def test_concurrent_calls_never_share_an_agent(agents: DeployedAgents) -> None:
    crew = Crew(agents)
    queued = crew.queued(*(f"Agent{n}" for n in range(20)))
    with ThreadPoolExecutor(8) as callers:
        responses = list(callers.map(lambda _: crew.match(), range(24)))
    assigned = [a["assignment"]["agentId"] for a in responses if a["status"] == "assigned"]
    assert sorted(assigned) == sorted(queued)
    assert crew.depth() == 0
    pending = [response["callId"] for response in responses if response["status"] == "pending"]
    assert agents.pending()[f"{crew.language}#M"] == len(pending) == 4
    for call_id in pending:
        agents.command("cancel-call", callId=call_id)


def test_concurrent_calls_and_agents_are_all_matched(agents: DeployedAgents) -> None:
    crew = Crew(agents)
    ids = [crew.register(f"Agent{n}") for n in range(16)]
    for agent in ids:
        assert agents.command("available", agentId=agent)["changed"]
    calls = [fresh("call") for _ in ids]
    steps: list[Callable[[], object]] = []
    for agent, call_id in zip(ids, calls):
        steps.append(partial(agents.command, "enqueue", agentId=agent))
        steps.append(partial(crew.match, call_id))
    with ThreadPoolExecutor(8) as parties:
        list(parties.map(lambda step: step(), steps))
    responses = [agents.command("call", callId=call_id) for call_id in calls]
    assert {response["status"] for response in responses} == {"assigned"}
    assert sorted(response["assignment"]["agentId"] for response in responses) == sorted(ids)
    assert crew.depth() == 0 and agents.pending().get(f"{crew.language}#M", 0) == 0


def test_agent_with_an_expired_lease_becomes_available_but_is_not_queued(agents: DeployedAgents) -> None:
    crew = Crew(agents)
    (agent,) = crew.queued("Noa")
    with agents.changed("agent-desk", {"callLeaseMs": 1000}):
        assignment = crew.assigned()
    assert assignment["leaseUntil"]
    assert agents.agents()[agent]["leaseUntil"] == assignment["leaseUntil"]
    sweep_until(agents, lambda: status(agents, agent) == "available", "the end of the agent's call")
    assert crew.depth() == 0
    late = agents.command(
        "finish", agentId=agent, callId=assignment["callId"], ticket=assignment["ticket"]
    )
    assert late["changed"] is False and late["rejected"]
