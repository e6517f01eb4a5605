"""The guards of the agents' queue, and the changes that break them."""

from __future__ import annotations

from tests.guards.guard import Guard, one_change

_CORE = "crates/agent-queue/src"
_TRANSACT = f"{_CORE}/store/dynamodb/transact.rs"
_AGENT = f"{_CORE}/agent.rs"
_AGENT_CHANGE = f"{_CORE}/agent/change.rs"
_CHANGE = f"{_CORE}/transaction.rs"
_ASSIGN = f"{_CORE}/transaction/assign.rs"
_ENQUEUE = f"{_CORE}/enqueue.rs"
_MATCHER = f"{_CORE}/matcher.rs"
_BATCH = f"{_CORE}/intake/batch.rs"
_LANE = f"{_CORE}/lane.rs"
_LINES = f"{_CORE}/lines.rs"
_MEET = f"{_CORE}/meet.rs"
_SERVE = f"{_CORE}/serve.rs"
_LEASES = f"{_CORE}/sweep/leases.rs"
_VIEW = f"{_CORE}/lane/view.rs"


AGENT_GUARDS: tuple[Guard, ...] = (
    one_change(
        "update an agent without its ticket (DynamoDB)",
        _TRANSACT,
        '"AgentStatus = :from AND Ticket = :ticket"',
        '"AgentStatus = :from AND (Ticket = :ticket OR attribute_exists(Ticket))"',
    ),
    one_change(
        "update an agent in any status (DynamoDB)",
        _TRANSACT,
        '"AgentStatus = :from AND Ticket = :ticket"',
        '"(AgentStatus = :from OR attribute_exists(AgentStatus)) AND Ticket = :ticket"',
    ),
    one_change(
        "write a new call over an answered one (DynamoDB)",
        _TRANSACT,
        'Before::New => put.condition_expression("attribute_not_exists(pk)"),',
        'Before::New => put.condition_expression("attribute_not_exists(pk) OR attribute_exists(pk)"),',
    ),
    one_change(
        "leave only one of the agent's queues",
        _CHANGE,
        "change.steps.extend(leaving(entry.everywhere()));",
        "change.steps.extend(leaving(vec![entry.clone()]));",
    ),
    one_change(
        "finish with any ticket",
        _AGENT,
        "if current == call && self.ticket == ticket =>\n            {\n                Ok(self.to(AgentState::Available",
        "if current == call && (self.ticket == ticket || self.ticket != ticket) =>\n            {\n                Ok(self.to(AgentState::Available",
    ),
    one_change(
        "finish with any call",
        _AGENT,
        "if current == call && self.ticket == ticket =>\n            {\n                Ok(self.to(AgentState::Available",
        "if self.ticket == ticket && (current == call || current != call) =>\n            {\n                Ok(self.to(AgentState::Available",
    ),
    one_change(
        "skip the search for an agent after queueing a call",
        _MATCHER,
        "Outcome::Done => self.look_again(call, true).await,",
        "Outcome::Done => Ok(Matched { state: CallState::Pending, assignments: vec![], queued: true, expired: 0, cut_short: false }),",
    ),
    one_change(
        "assign without an outbox entry",
        _ASSIGN,
        """        let outbox = OutboxEntry::assigned(assignment.clone());
        steps.push(Step::OutboxEntry(outbox));
        (Change::of(steps), assignment)""",
        "        (Change::of(steps), assignment)",
    ),
    one_change(
        "assign an expired call",
        _SERVE,
        "        if self.is_too_old(call) {\n            return self.expire_first",
        "        if self.is_too_old(call) && call.sequence == u128::MAX {\n            return self.expire_first",
    ),
    one_change(
        "keep an outdated entry",
        _MEET,
        ".partition(|entry| outdated.contains(entry));",
        ".partition(|entry| outdated.contains(entry) && entry.agent_name.is_empty());",
    ),
    one_change(
        "discard an entry with any ticket (DynamoDB)",
        _TRANSACT,
        '.condition_expression("Ticket = :ticket")',
        '.condition_expression("Ticket = :ticket OR attribute_exists(Ticket)")',
    ),
    one_change(
        "keep the place of an ended call in the line",
        _SERVE,
        "if ended.as_ref() == Some(&call.id) {",
        "if ended.as_ref() == Some(&call.id) && call.sequence == u128::MAX {",
    ),
    one_change(
        "continue matching after the deadline",
        _SERVE,
        "        while !self.is_over() {",
        "        while !self.is_over() || !served.assignments.is_empty() {",
    ),
    one_change(
        "continue with a group after a failure",
        _LANE,
        """            results.push(batch.passed_on(one(call).await));
            if results.last().is_some_and(Result::is_err) || self.is_over() {""",
        """            results.push(batch.passed_on(one(call).await));
            if self.is_over() {""",
    ),
    one_change(
        "claim agents concurrently although a call waits",
        _LANE,
        "        if !pending.is_empty() {",
        "        if pending.len() > calls.len() + 1 {",
    ),
    one_change(
        "claim agents concurrently in strict order",
        _LANE,
        "if in_turn || self.settings.contention_window <= 1 {",
        "if in_turn || self.settings.contention_window < 1 {",
    ),
    one_change(
        "skip any number of lost agents",
        _VIEW,
        "            .take(most)\n",
        "            .take(most + self.lost.len())\n",
    ),
    one_change(
        "claim an agent twice in one batch",
        _VIEW,
        "        claims.insert(entry.ticket);\n",
        "",
    ),
    one_change(
        "join queues without counting the joins",
        _AGENT_CHANGE,
        "AgentState::Queued { queues, .. } if self.from != AgentStatus::Queued => queues,",
        "AgentState::Queued { queues, .. } if self.from != AgentStatus::Queued => &queues[..0],",
    ),
    one_change(
        "leave failed messages hidden until their visibility timeout",
        _BATCH,
        "        self.show_again(&left, deadline).await;",
        "        self.show_again(&left[left.len()..], deadline).await;",
    ),
    one_change(
        "wait for a match beyond its deadline",
        _BATCH,
        "        let queue = self.queue.until(deadline);",
        "        let (queue, deadline) = (&self.queue, deadline + Duration::from_secs(86_400));",
    ),
    one_change(
        "end the sweep of the lines at the first failure",
        f"{_CORE}/lines.rs",
        "                Err(error) => errors.push(error),",
        "                Err(error) => {\n                    errors.push(error);\n                    break;\n                }",
    ),
    one_change(
        "end the sweep of the leases at the first failure",
        f"{_CORE}/sweep.rs",
        "                    Err(error) => self.failed(error),\n                }\n            }\n            after",
        "                    Err(error) => return self.failed(error),\n                }\n            }\n            after",
    ),
    one_change(
        "return an agent although its assignment was not published (DynamoDB)",
        _TRANSACT,
        '            .condition_expression("attribute_not_exists(pk)");\n',
        '            .condition_expression("attribute_not_exists(pk) OR attribute_exists(pk)");\n',
    ),
    one_change(
        "let known calls of a redelivered batch claim agents",
        _LANE,
        "if !batch.redelivered || calls.len() < 2 {",
        "if !batch.redelivered || !calls.is_empty() {",
    ),
    one_change(
        "let a slow claim delay other lanes",
        _LANE,
        "                    place = None;\n",
        "",
    ),
    one_change(
        "cancel a call that the agent has answered",
        _MATCHER,
        "lease.ticket == made.ticket && !lease.answered",
        "lease.ticket == made.ticket",
    ),
    one_change(
        "cancel the next call of the agent",
        _MATCHER,
        "lease.ticket == made.ticket && !lease.answered",
        "!lease.answered",
    ),
    one_change(
        "write a call that was cancelled early as pending",
        _CHANGE,
        "let (state, at) = (CallState::Cancelled, call.arrived);",
        "let (state, at) = (CallState::Pending, call.arrived);",
    ),
    one_change(
        "overtake a pending call of the same criteria in strict order",
        _LANE,
        "        if !self\n            .store\n            .calls_in_line(&call.criteria, 1)\n            .await?\n            .is_empty()\n        {",
        "        if self\n            .store\n            .calls_in_line(&call.criteria, 1)\n            .await?\n            .len()\n            > 1\n        {",
    ),
    one_change(
        "skip the search for a call after queueing an agent",
        _ENQUEUE,
        "            Changed::Done(agent) => self.serve_agent(agent).await?,",
        "            Changed::Done(agent) if agent.name.is_empty() => self.serve_agent(agent).await?,",
    ),
    one_change(
        "assign a pending call to a free agent before a queued one",
        _ENQUEUE,
        "if !self.first_entries(&call.criteria, 1).await?.is_empty() {",
        "if self.first_entries(&call.criteria, 1).await?.len() > 1 {",
    ),
    one_change(
        "assign an available agent with the ticket of the last stay",
        _CHANGE,
        "            fresh_ticket: Some(Ticket::fresh()),",
        "            fresh_ticket: Some(agent.ticket),",
    ),
    one_change(
        "end a call with any lease (DynamoDB)",
        _TRANSACT,
        '" AND LeaseUntil = :until"',
        '" AND (LeaseUntil = :until OR attribute_exists(LeaseUntil))"',
    ),
    one_change(
        "end a call without a lease although it has one (DynamoDB)",
        _TRANSACT,
        '" AND attribute_not_exists(LeaseUntil)"',
        '""',
    ),
    one_change(
        "assign a call with a used assignment number (DynamoDB)",
        _TRANSACT,
        '"CallStatus = :pending AND attribute_not_exists(Assignment)"',
        '"CallStatus = :pending"',
    ),
    one_change(
        "assign a call with a number other than the next (DynamoDB)",
        _TRANSACT,
        '"CallStatus = :pending AND Assignment = :unanswered"',
        '"CallStatus = :pending AND (Assignment = :unanswered OR CallStatus = :pending)"',
    ),
    one_change(
        "return a call that another agent attends (DynamoDB)",
        _TRANSACT,
        '"CallStatus = :assigned AND Ticket = :by"',
        '"CallStatus = :assigned AND (Ticket = :by OR attribute_exists(Ticket))"',
    ),
    one_change(
        "return a call with its old assignment number",
        _CHANGE,
        "        unanswered: assigned.unanswered + 1,",
        "        unanswered: assigned.unanswered,",
    ),
    one_change(
        "return the call of an agent who answered",
        _LEASES,
        "            true => None,\n            false => self.assigned_by(lease).await?,",
        "            _ => self.assigned_by(lease).await?,",
    ),
    one_change(
        "keep a finished call without a ttl",
        f"{_CORE}/call.rs",
        "            ttl: Some(at.plus(RETENTION).0.div_ceil(1_000_000)),",
        "            ttl: None,",
    ),
    one_change(
        "queue a call in a line that is not open",
        _MATCHER,
        "        self.open_line(&call.criteria).await?;\n",
        "",
    ),
    one_change(
        "close a line that has a pending call",
        _LINES,
        " && self.is_empty(&line).await? {",
        " && (self.is_empty(&line).await? || line.seen <= now) {",
    ),
    one_change(
        "close a line that was opened again (DynamoDB)",
        f"{_CORE}/store/dynamodb/line.rs",
        '.condition_expression("SeenAt = :seen")',
        '.condition_expression("SeenAt = :seen OR attribute_exists(SeenAt)")',
    ),
    one_change(
        "open any number of lines",
        _LINES,
        "if lines.len() >= MAX_LINES &&",
        "if lines.len() > 10 * MAX_LINES &&",
    ),
    one_change(
        "add an entry for an agent who left",
        _CHANGE,
        "Self::of(vec![Step::Agent(agent.stay()), Step::Join(entry)])",
        "Self::of(vec![Step::Join(entry)])",
    ),
    one_change(
        "register an agent in more queues than one transaction can change",
        f"{_CORE}/dimension.rs",
        "        if queues > MAX_QUEUES {",
        "        if queues > 2 * MAX_QUEUES {",
    ),
    one_change(
        "extend a lease with any ticket",
        _AGENT,
        "if current == call && self.ticket == ticket =>\n            {\n                Ok(self.to(AgentState::AttendingCall",
        "if current == call && (self.ticket == ticket || self.ticket != ticket) =>\n            {\n                Ok(self.to(AgentState::AttendingCall",
    ),
)
