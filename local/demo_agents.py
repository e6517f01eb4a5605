"""The demonstration of the agents' queue: each call gets the matching agent queued longest.

It follows the published sample: five sample agents, six queues at depth 0, all agents queued, and a request for a
Spanish-speaking man. The demonstration ends at the first call that is assigned to a different agent or published
differently. `test_the_demonstration_of_the_published_sample` also checks every counter and queue.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from local import agents
from local.agents import Counters, DeployedAgents, by_turn, canonical, fits, fresh, queues_of
from local.assembly import Assembly
from local.display import deployed
from local.queue_reader import QueueReader, subscription
from local.waiting import wait_until

POOL = 5
#: The criteria of the first call.
CRITERIA = {"language": "Spanish", "gender": "M"}
#: Maximum time from the call queue to an assignment, and from an assignment to a subscriber.
ARRIVAL_SECONDS = 30

Agent = dict[str, Any]


class NotAsPromised(RuntimeError):
    """Raised if the outcome of a step differs from the guarantees."""


def run(assembly: Assembly, console: Console) -> int:
    """Starts a local AWS, deploys, and checks each step. Always stops the local AWS.

    Returns 0 if every step had the guaranteed outcome; raises `NotAsPromised` otherwise.
    """
    with deployed("demo-agents", console, assembly, DeployedAgents) as queue:
        with subscription(queue, queue.outputs["AssignmentTopicArn"]) as assignments:
            Walk(queue, console, assignments).go()
    console.print(
        "[bold green]Each call got the agent queued longest, once.[/bold green]"
    )
    return 0


class Walk:
    """The steps of the demonstration, on an empty queue."""

    def __init__(self, queue: DeployedAgents, console: Console, assignments: QueueReader) -> None:
        self._queue = queue
        self._console = console
        self._assignments = assignments

    def go(self) -> None:
        self._make_up_agents()
        self._queue_everybody()
        first = self._ask()
        self._ask_again(first)
        second = self._call_through_the_intake_queue()
        self._published([first, second])
        self._finish(first)

    def _make_up_agents(self) -> None:
        self._heading(f"Creating {POOL} sample agents")
        self._queue.command("seed", count=POOL)
        pool = by_turn(self._queue.agents().values())
        self._console.print(agent_table(pool))
        expect(len(pool) == POOL, f"{len(pool)} agents were created, not {POOL}")
        self._console.print(counter_table(self._queue.queues()))

    def _queue_everybody(self) -> None:
        self._heading("Queueing all available agents")
        before = self._queue.queues()
        response = self._queue.command("queue-all-available")
        expect(response["queued"] == POOL, f"{response['queued']} agents were queued, not {POOL}")
        self._console.print(counter_table(before, self._queue.queues()))

    def _ask(self) -> dict[str, Any]:
        """Requests a Spanish-speaking man and returns the assignment."""
        self._heading(f"A call asks for Q#{canonical(CRITERIA)}")
        wanted = self._next_for(CRITERIA)
        before = self._queue.queues()
        response = self._queue.command("match", callId=fresh("demo"), criteria=CRITERIA)
        assignment = self._assigned(response, wanted)
        self._left_every_queue(wanted, before)
        return assignment

    def _ask_again(self, first: dict[str, Any]) -> None:
        self._heading("The same call asks again")
        before = self._queue.queues()
        again = self._queue.command("match", callId=first["callId"], criteria=CRITERIA)
        expect(
            again["status"] == "assigned" and again["assignment"] == first,
            f"the first response was {first}, but the second is {again}",
        )
        expect(self._queue.queues() == before, "the repeated call changed a queue")
        self._console.print(f"  the same response: {first['agentName']}; no queue has changed")

    def _call_through_the_intake_queue(self) -> dict[str, Any]:
        """Sends a call for the deepest queue through SQS and returns the assignment."""
        before = self._queue.queues()
        name = max(before, key=lambda queue: before[queue].depth)
        expect(before[name].depth > 0, "no queued agent is left")
        criteria = dict(zip(agents.DIMENSIONS, name.split("#")[1:]))
        call_id = fresh("demo")
        self._heading(f"A call asks for {name} through the SQS FIFO queue")
        wanted = self._next_for(criteria)
        self._queue.send_call(call_id, criteria)
        wait_until(
            lambda: self._queue.command("call", callId=call_id)["status"] == "assigned",
            ARRIVAL_SECONDS,
            f"the assignment of call {call_id}, sent through the call queue",
        )
        assignment = self._assigned(self._queue.command("call", callId=call_id), wanted)
        self._left_every_queue(wanted, before)
        return assignment

    def _published(self, expected: list[dict[str, Any]]) -> None:
        self._heading("The assignments at a subscriber of the topic")
        for assignment in expected:
            call_id = assignment["callId"]
            first, *_ = self._assignments.wait_for(
                lambda message: message.attributes.get("callId") == call_id,
                ARRIVAL_SECONDS,
                f"the assignment of call {call_id} at a subscriber of the topic",
            )
            expect(
                first.json() == assignment,
                f"{assignment} was assigned, but {first.json()} was published",
            )
            self._console.print(f"  {call_id}: {assignment['agentName']}")

    def _finish(self, assignment: dict[str, Any]) -> None:
        self._heading("The first call ends")
        response = self._queue.command(
            "finish",
            agentId=assignment["agentId"],
            callId=assignment["callId"],
            ticket=assignment["ticket"],
        )
        status = response["agent"]["status"]
        expect(response["changed"] and status == "available", f"the response to finish is {response}")
        self._console.print(f"  {assignment['agentName']} is {status} again")

    def _next_for(self, criteria: dict[str, str]) -> Agent:
        """The matching agent queued longest."""
        pending = by_turn(
            agent
            for agent in self._queue.agents().values()
            if agent["status"] == "queued" and fits(agent, criteria)
        )
        expect(bool(pending), f"no agent that matches {canonical(criteria)} is queued")
        self._console.print(f"  matching agents, longest queued first: {', '.join(a['name'] for a in pending)}")
        return pending[0]

    def _assigned(self, response: dict[str, Any], wanted: Agent) -> dict[str, Any]:
        expect(response["status"] == "assigned", f"no agent was assigned: {response}")
        assignment = response["assignment"]
        self._console.print(
            f"  assigned: {assignment['agentName']} to call {assignment['callId']},"
            f" ticket {assignment['ticket']}"
        )
        expect(
            assignment["agentId"] == wanted["agentId"],
            f"{wanted['name']} was queued longest, but {assignment['agentName']} was assigned",
        )
        return assignment

    def _left_every_queue(self, agent: Agent, before: dict[str, Counters]) -> None:
        self._console.print(counter_table(before, self._queue.queues()))
        status = self._queue.agents()[agent["agentId"]]["status"]
        expect(status == "attendingCall", f"{agent['name']} is {status}, not attendingCall")
        self._console.print(f"  {agent['name']} is {status} and has left {', '.join(queues_of(agent))}")

    def _heading(self, text: str) -> None:
        self._console.print(f"[bold]{text}[/bold]")


def expect(holds: bool, otherwise: str) -> None:
    """Raises `NotAsPromised` with the message `otherwise`, unless `holds`."""
    if not holds:
        raise NotAsPromised(f"not as promised: {otherwise}")


def agent_table(pool: list[Agent]) -> Table:
    table = Table(title="Agents, available longest first")
    for heading in ("name", *agents.DIMENSIONS, "status", "available since"):
        table.add_column(heading)
    for agent in pool:
        attributes = agent["attributes"]
        table.add_row(
            agent["name"],
            ", ".join(attributes["language"]),
            attributes["gender"],
            agent["status"],
            # Omits the date, which is the same for every agent.
            agent["availableSince"].partition("T")[2],
        )
    return table


def counter_table(
    before: dict[str, Counters], after: dict[str, Counters] | None = None
) -> Table:
    """A table with one row per queue that shows its depth and version, with changes if `after` is given."""
    table = Table(title="Queues" if after is None else "Queues, before → after")
    table.add_column("queue")
    table.add_column("depth", justify="right")
    table.add_column("version", justify="right")
    for name, counter in sorted(before.items()):
        then = counter if after is None else after.get(name, counter)
        table.add_row(
            name, _change(counter.depth, then.depth), _change(counter.version, then.version)
        )
    return table


def _change(before: int, after: int) -> str:
    return str(before) if before == after else f"{before} → {after}"
