"""Calls through the SQS FIFO queue and its dead-letter queue."""

from __future__ import annotations

from typing import Any

from expectations import sweep_until

from local.agents import DeployedAgents, canonical, fresh, intake_message, intake_record
from local.crew import Crew, status, wait_for_call
from local.queue_reader import QueueReader, Message


def test_a_pending_call_gets_the_next_queued_agent(
    agents: DeployedAgents, assignments: QueueReader
) -> None:
    crew = Crew(agents)
    call_id = fresh("call")
    crew.send(call_id)
    wait_for_call(agents, call_id, "pending")
    agent = crew.register("Mia")
    response = crew.enqueue(agent)
    assert response["assignment"]["callId"] == call_id
    assert response["assignment"]["agentId"] == agent
    call = wait_for_call(agents, call_id, "assigned")
    assert call["assignment"] == response["assignment"]
    published = assignments.wait_for(
        lambda message: message.attributes.get("callId") == call_id, 20, "the assignment"
    )
    assert published[0].json() == response["assignment"]


def test_calls_of_a_group_get_the_longest_queued_agents_in_call_order(agents: DeployedAgents) -> None:
    crew = Crew(agents)
    queued = crew.queued("One", "Two", "Three")
    calls = [fresh("call") for _ in queued]
    agents.send_calls(intake_message(call, crew.criteria) for call in calls)
    responses = [wait_for_call(agents, call, "assigned") for call in calls]
    assert [response["assignment"]["agentId"] for response in responses] == queued


def test_pending_calls_get_agents_in_order_of_arrival(agents: DeployedAgents) -> None:
    crew = Crew(agents)
    calls = [fresh("call") for _ in range(3)]
    agents.send_calls(intake_message(call, crew.criteria) for call in calls)
    for call in calls:
        wait_for_call(agents, call, "pending")
    served = [crew.enqueue(crew.register(name))["assignment"]["callId"] for name in "ABC"]
    assert served == calls


def test_a_redelivered_call_gets_its_first_response(agents: DeployedAgents) -> None:
    crew = Crew(agents)
    first, second = crew.queued("Bea", "Zoe")
    call_id = fresh("call")
    crew.send(call_id)
    response = wait_for_call(agents, call_id, "assigned")
    assert response["assignment"]["agentId"] == first
    redelivered = {"Records": [intake_record(intake_message(call_id, crew.criteria), ApproximateReceiveCount="2")]}
    assert agents.invoke("match-calls", redelivered) == {"batchItemFailures": []}
    assert wait_for_call(agents, call_id, "assigned") == response
    assert status(agents, second) == "queued"


def test_invalid_messages_go_to_the_dead_letter_queue_with_a_reason_and_valid_ones_are_matched(
    agents: DeployedAgents, dead_calls: QueueReader
) -> None:
    crew, other = Crew(agents), Crew(agents)
    (agent,), (other_agent,) = crew.queued("Ada"), other.queued("Bo")
    calls = [fresh("call") for _ in range(4)]
    agents.send_calls(
        [
            intake_message(calls[0], crew.criteria),
            intake_message(calls[1], crew.criteria, body="{not JSON"),
            intake_message(calls[2], crew.criteria, group=canonical(other.criteria)),
            intake_message(calls[3], other.criteria),
        ]
    )
    assert wait_for_call(agents, calls[0], "assigned")["assignment"]["agentId"] == agent
    assert wait_for_call(agents, calls[3], "assigned")["assignment"]["agentId"] == other_agent

    broken = dead_calls.wait_for(lambda m: m.body == "{not JSON", 20, "the message that is not JSON")
    assert len(broken) == 1 and "body" in broken[0].attributes["reason"]
    misplaced = dead_calls.wait_for(about(calls[2]), 20, "the message in a wrong group")
    assert len(misplaced) == 1
    # The reason names the correct group.
    assert canonical(crew.criteria) in misplaced[0].attributes["reason"]
    assert agents.command("call", callId=calls[2])["status"] == "unknown"


def test_a_call_that_is_pending_for_too_long_expires_into_the_dead_letter_queue(
    agents: DeployedAgents, dead_calls: QueueReader, assignments: QueueReader
) -> None:
    crew = Crew(agents)
    call_id = fresh("call")
    crew.send(call_id)
    wait_for_call(agents, call_id, "pending")
    with agents.changed("sweep-agents", {"maxWaitMs": 1000}):
        sweep_until(agents, lambda: agents.command("call", callId=call_id)["status"] == "expired", "an expired call")
    (expired,) = dead_calls.wait_for(about(call_id), 20, "the expired call")
    assert expired.attributes["reason"]
    assert expired.json()["criteria"] == canonical(crew.criteria)
    (event,) = assignments.wait_for(about(call_id), 20, "the event of the expired call")
    assert event.attributes == {"event": "expired", "callId": call_id}
    assert event.json() == expired.json()
    assert agents.pending().get(canonical(crew.criteria), 0) == 0
    (agent,) = crew.queued("Fay")
    assert status(agents, agent) == "queued"


def about(call_id: str) -> Any:
    def is_about(message: Message) -> bool:
        return f'"{call_id}"' in message.body

    return is_about
