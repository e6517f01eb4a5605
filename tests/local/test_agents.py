"""The client's own order of agents, which the demonstration compares with that of the queue."""

from __future__ import annotations

import json

import pytest

from local.agents import by_turn, canonical, fits, intake_message, queues_of
from local.demo_agents import NotAsPromised, expect


def agent(agent_id: str, since: str, languages: list[str], gender: str) -> dict:
    return {
        "agentId": agent_id,
        "availableSince": since,
        "attributes": {"language": languages, "gender": gender},
    }


ANA = agent("ana", "2026-01-01T00:00:00.000002Z", ["Spanish", "English"], "F")
BEN = agent("ben", "2026-01-01T00:00:00.000001Z", ["Spanish"], "M")
CAI = agent("cai", "2026-01-01T00:00:00.000001Z", ["French"], "M")


@pytest.mark.parametrize(
    ("criteria", "form"),
    [
        ({"gender": "M", "language": "Spanish"}, "Spanish#M"),
        ({"language": "Spanish"}, "Spanish#*"),
        ({"gender": "M"}, "*#M"),
        ({}, "*#*"),
    ],
)
def test_criteria_in_any_order_have_one_form(criteria: dict[str, str], form: str) -> None:
    assert canonical(criteria) == form
    message = intake_message("c1", criteria)
    assert message["MessageGroupId"] == form
    assert message["MessageDeduplicationId"] == "c1"
    assert json.loads(message["MessageBody"]) == {"callId": "c1", "criteria": criteria}


def test_an_agent_is_in_one_queue_for_each_language() -> None:
    assert queues_of(ANA) == ["Q#Spanish#F", "Q#English#F"]
    assert queues_of(CAI) == ["Q#French#M"]


def test_the_agent_available_longest_comes_first_and_equal_times_are_ordered_by_id() -> None:
    assert by_turn([ANA, CAI, BEN]) == [BEN, CAI, ANA]


def test_the_agent_queued_first_comes_first_regardless_of_its_availability() -> None:
    queued = [BEN | {"queuedAt": "2026-01-01T00:00:05.000000Z"}]
    queued.append(ANA | {"queuedAt": "2026-01-01T00:00:04.000000Z"})
    assert [agent["agentId"] for agent in by_turn(queued)] == ["ana", "ben"]


def test_an_agent_fits_if_it_has_all_values_of_the_criteria() -> None:
    assert fits(ANA, {"language": "English"}) and fits(ANA, {"gender": "F"}) and fits(ANA, {})
    assert not fits(ANA, {"language": "English", "gender": "M"})
    assert not fits(BEN, {"language": "English"})


def test_a_failed_expectation_ends_the_demonstration() -> None:
    expect(True, "nothing")
    with pytest.raises(NotAsPromised, match="^not as promised: Ben waits$"):
        expect(False, "Ben waits")
