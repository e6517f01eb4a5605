"""The guards of the agents' queue, and how each is broken."""

from __future__ import annotations

from tests.guards.guard import Change, Guard

_CORE = "crates/agent-queue/src"
_TRANSACT = f"{_CORE}/store/dynamodb/transact.rs"
_AGENT = f"{_CORE}/agent.rs"
_CHANGE = f"{_CORE}/change.rs"
_ENQUEUE = f"{_CORE}/enqueue.rs"
_MATCHER = f"{_CORE}/matcher.rs"
_BATCH = f"{_CORE}/intake/batch.rs"
_LANE = f"{_CORE}/lane.rs"
_VIEW = f"{_CORE}/lane/view.rs"


def _guard(name: str, file: str, find: str, replace: str) -> Guard:
    return Guard(name, (Change(file, find, replace),))


AGENT_GUARDS: tuple[Guard, ...] = (
    _guard(
        "move an agent without the ticket (DynamoDB)",
        _TRANSACT,
        '"AgentStatus = :from AND Ticket = :ticket"',
        '"AgentStatus = :from AND (Ticket = :ticket OR attribute_exists(Ticket))"',
    ),
    _guard(
        "move an agent whatever its status (DynamoDB)",
        _TRANSACT,
        '"AgentStatus = :from AND Ticket = :ticket"',
        '"(AgentStatus = :from OR attribute_exists(AgentStatus)) AND Ticket = :ticket"',
    ),
    _guard(
        "move an agent without the ticket (memory)",
        _AGENT,
        "agent.state.status() == self.from && agent.ticket == self.ticket && in_call",
        "agent.state.status() == self.from && in_call",
    ),
    _guard(
        "assign a call that has an answer (DynamoDB)",
        _TRANSACT,
        'Before::New => put.condition_expression("attribute_not_exists(pk)"),',
        'Before::New => put.condition_expression("attribute_not_exists(pk) OR attribute_exists(pk)"),',
    ),
    _guard(
        "a new call overtakes one that waits for the same",
        _CHANGE,
        "        if from == Before::New {\n            steps.push(Step::NobodyWaits",
        "        if from == Before::New && call.sequence == u128::MAX {\n            steps.push(Step::NobodyWaits",
    ),
    _guard(
        "leave only the queue that was asked for",
        _CHANGE,
        "        steps.extend(leaving(entry.everywhere()));",
        "        steps.extend(leaving(vec![entry.clone()]));",
    ),
    _guard(
        "finish whatever the ticket",
        _AGENT,
        "if current == call && self.ticket == ticket =>",
        "if current == call && (self.ticket == ticket || self.ticket != ticket) =>",
    ),
    _guard(
        "finish whatever the call",
        _AGENT,
        "if current == call && self.ticket == ticket =>",
        "if self.ticket == ticket && (current == call || current != call) =>",
    ),
    _guard(
        "queue an agent and do not look for a call",
        _ENQUEUE,
        "Changed::Done(agent) => self.serve_agent(agent).await?,",
        "Changed::Done(agent) if agent.name.is_empty() => self.serve_agent(agent).await?,",
    ),
    _guard(
        "let a call wait and do not look for an agent",
        _MATCHER,
        "Outcome::Done => self.look_again(call, true).await,",
        "Outcome::Done => Ok(Matched { state: CallState::Waiting, assignments: vec![], queued: true, expired: 0 }),",
    ),
    _guard(
        "assign and keep no notice",
        _CHANGE,
        """        steps.push(Step::Notice(Notice {
            at,
            news: News::Assigned(assignment.clone()),
        }));
        (Self::of(steps), assignment)""",
        "        (Self::of(steps), assignment)",
    ),
    _guard(
        "give an agent to a call that waited for too long",
        _MATCHER,
        "        if self.is_too_old(call) {\n            return self.expire_first",
        "        if self.is_too_old(call) && call.sequence == u128::MAX {\n            return self.expire_first",
    ),
    _guard(
        "try an outdated entry again and keep it",
        _MATCHER,
        ".partition(|entry| outdated.contains(entry));",
        ".partition(|entry| outdated.contains(entry) && entry.agent_name.is_empty());",
    ),
    _guard(
        "discard an entry whatever its ticket (DynamoDB)",
        _TRANSACT,
        '.condition_expression("Ticket = :ticket")',
        '.condition_expression("Ticket = :ticket OR attribute_exists(Ticket)")',
    ),
    _guard(
        "keep a place that outlived its call's wait",
        _MATCHER,
        "if ended.as_ref() == Some(&call.id) {",
        "if ended.as_ref() == Some(&call.id) && call.sequence == u128::MAX {",
    ),
    _guard(
        "look on after the deadline",
        _MATCHER,
        "        while !self.is_over() {",
        "        while !self.is_over() || !served.assignments.is_empty() {",
    ),
    _guard(
        "go on with a group behind a failure",
        _LANE,
        """            answers.push(self.match_call(call).await);
            if answers.last().is_some_and(Result::is_err) || self.is_over() {""",
        """            answers.push(self.match_call(call).await);
            if self.is_over() {""",
    ),
    _guard(
        "claim agents side by side although a call waits",
        _LANE,
        "        if !waiting.is_empty() {",
        "        if waiting.len() > calls.len() + 1 {",
    ),
    _guard(
        "claim agents side by side although the order is strict",
        _LANE,
        "if in_turn || self.settings.contention_window <= 1 {",
        "if in_turn || self.settings.contention_window < 1 {",
    ),
    _guard(
        "pass over any number of lost agents",
        _VIEW,
        "            .take(most)\n",
        "            .take(most + self.lost.len())\n",
    ),
    _guard(
        "claim an agent twice in one batch",
        _VIEW,
        "        claims.insert(entry.ticket);\n",
        "",
    ),
    _guard(
        "count no joins",
        _CHANGE,
        "        steps.push(Step::CountJoins(stripe, queues));\n",
        "        let _ = (stripe, queues);\n",
    ),
    _guard(
        "leave what failed hidden for the queue's visibility timeout",
        _BATCH,
        "        self.show_again(&left, deadline).await;",
        "        self.show_again(&left[left.len()..], deadline).await;",
    ),
    _guard(
        "wait for a match whatever its deadline",
        _BATCH,
        "        let queue = self.queue.until(deadline);",
        "        let (queue, deadline) = (&self.queue, deadline + Duration::from_secs(86_400));",
    ),
    _guard(
        "let one line's failure end the sweep's look",
        f"{_CORE}/lines.rs",
        "                Err(error) => errors.push(error),",
        "                Err(error) => {\n                    errors.push(error);\n                    break;\n                }",
    ),
    _guard(
        "let one lease's failure end the sweep's returns",
        f"{_CORE}/sweep.rs",
        "                    Err(error) => self.failed(error),\n                }\n            }\n            after",
        "                    Err(error) => return self.failed(error),\n                }\n            }\n            after",
    ),
    _guard(
        "write a call that was cancelled early as one that waits",
        _CHANGE,
        "        let state = CallState::Cancelled;",
        "        let state = CallState::Waiting;",
    ),
)
