"""Agents and calls for one test. A unique language or gender separates them from those of other tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from local.agents import DeployedAgents, canonical, fresh
from local.waiting import wait_until


@dataclass
class Crew:
    """Agents with a unique language, which no other queued agent has."""

    queue: DeployedAgents
    language: str = field(default_factory=lambda: fresh("lang"))
    gender: str = "M"

    @property
    def criteria(self) -> dict[str, str]:
        return {"language": self.language, "gender": self.gender}

    @property
    def queue_name(self) -> str:
        return f"Q#{canonical(self.criteria)}"

    def register(self, name: str) -> str:
        """Registers an agent, which is initially offline, and returns its id."""
        agent_id = fresh(name.lower())
        attributes = {"language": [self.language], "gender": self.gender}
        response = self.queue.command("register", agentId=agent_id, name=name, attributes=attributes)
        assert response["changed"] and response["agent"]["status"] == "offline", response
        return agent_id

    def queued(self, *names: str) -> list[str]:
        """Registers and queues agents one after another, and returns their ids in this order."""
        ids = []
        for name in names:
            agent_id = self.register(name)
            self.enqueue(agent_id)
            ids.append(agent_id)
        return ids

    def enqueue(self, agent_id: str) -> dict[str, Any]:
        """Makes an agent available, queues it, and returns the response to `enqueue`."""
        available = self.queue.command("available", agentId=agent_id)
        assert available["changed"], available
        response: dict[str, Any] = self.queue.command("enqueue", agentId=agent_id)
        assert response["changed"], response
        return response

    def match(self, call_id: str | None = None) -> dict[str, Any]:
        """Sends the desk a call for this crew and returns the response."""
        response: dict[str, Any] = self.queue.command("match", callId=call_id or fresh("call"), criteria=self.criteria)
        return response

    def assigned(self) -> dict[str, Any]:
        """Matches a call for this crew, which must get an agent immediately, and returns the assignment."""
        response = self.match()
        assert response["status"] == "assigned", response
        return response["assignment"]

    def send(self, call_id: str) -> None:
        self.queue.send_call(call_id, self.criteria)

    def depth(self) -> int:
        return self.queue.queues()[self.queue_name].depth


def status(queue: DeployedAgents, agent_id: str) -> str:
    return queue.agents()[agent_id]["status"]


def wait_for_call(queue: DeployedAgents, call_id: str, wanted: str, seconds: float = 120) -> Any:
    def there() -> bool:
        return queue.command("call", callId=call_id)["status"] == wanted

    try:
        wait_until(there, seconds, f"call {call_id} {wanted}")
    except TimeoutError as error:
        raise AssertionError(f"{error}; it is {queue.command('call', callId=call_id)}") from error
    return queue.command("call", callId=call_id)
