"""Checks the guarantees of the agents' queue on a deployed stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from local.agents import DeployedAgents, fresh
from local.crew import Crew, wait_for_call
from local.queue_reader import subscription
from smoke.report import Report, expect

SECONDS = 60.0


@dataclass
class AgentChecks:
    """The checks for one agents' queue. Each check uses agents with a unique language."""

    queue: DeployedAgents

    def run(self, report: Report) -> None:
        checks: list[tuple[str, Callable[[], str]]] = [
            ("agents: a call gets the agent queued longest, and it is published", self.assigned),
            ("agents: a pending call gets the next agent", self.pending),
            ("agents: a cancelled call gets no agent", self.cancelled),
        ]
        for name, check in checks:
            report.check(name, check)

    def assigned(self) -> str:
        crew, call = Crew(self.queue), fresh("call")
        with subscription(self.queue, self.queue.outputs["AssignmentTopicArn"]) as published:
            first, _second = crew.queued("First", "Second")
            crew.send(call)
            assignment = wait_for_call(self.queue, call, "assigned", SECONDS)["assignment"]
            expect(assignment["agentId"] == first, f"assigned {assignment['agentId']}, not {first}")
            messages = published.wait_for(
                lambda message: message.attributes.get("callId") == call, SECONDS, "the assignment"
            )
            expect(messages[0].json() == assignment, f"published {messages[0].body}, not {assignment}")
        return "through the call queue"

    def pending(self) -> str:
        crew, call = Crew(self.queue), fresh("call")
        crew.send(call)
        wait_for_call(self.queue, call, "pending", SECONDS)
        (agent,) = crew.queued("Next")
        assignment = wait_for_call(self.queue, call, "assigned", SECONDS)["assignment"]
        expect(assignment["agentId"] == agent, f"assigned {assignment['agentId']}, not {agent}")
        return "as soon as an agent was queued"

    def cancelled(self) -> str:
        crew, call = Crew(self.queue), fresh("call")
        crew.send(call)
        wait_for_call(self.queue, call, "pending", SECONDS)
        self.queue.command("cancel-call", callId=call)
        crew.queued("Idle")
        expect(crew.depth() == 1, "the agent left the queue, although the only call was cancelled")
        return "the agent is still queued"
