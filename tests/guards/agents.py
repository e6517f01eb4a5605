"""The agents' queue guards, and the changes that break them."""

from __future__ import annotations

from tests.guards.guard import guards_of

_CORE = "crates/agent-queue/src"

AGENT_GUARDS = guards_of(
    {
        f"{_CORE}/store/dynamodb/read.rs": {
            "read a call or an agent without strong consistency (DynamoDB)": (
                ".set_key(Some(key(at)))\n            .consistent_read(true)",
                ".set_key(Some(key(at)))\n            .consistent_read(false)",
            ),
            "query without strong consistency (DynamoDB)": (
                ".consistent_read(true)\n            .expression_attribute_values",
                ".consistent_read(false)\n            .expression_attribute_values",
            ),
        },
        f"{_CORE}/store/dynamodb/transact.rs": {
            "update an agent without its ticket (DynamoDB)": (
                '"AgentStatus = :from AND Ticket = :ticket"',
                '"AgentStatus = :from AND (Ticket = :ticket OR attribute_exists(Ticket))"',
            ),
            "update an agent in any status (DynamoDB)": (
                '"AgentStatus = :from AND Ticket = :ticket"',
                '"(AgentStatus = :from OR attribute_exists(AgentStatus)) AND Ticket = :ticket"',
            ),
            "write a new call over an answered one (DynamoDB)": (
                'Before::New => put.condition_expression("attribute_not_exists(pk)"),',
                'Before::New => put.condition_expression("attribute_not_exists(pk) OR attribute_exists(pk)"),',
            ),
            "discard an entry with any ticket (DynamoDB)": (
                '.condition_expression("Ticket = :ticket")',
                '.condition_expression("Ticket = :ticket OR attribute_exists(Ticket)")',
            ),
            "return an agent although its assignment was not published (DynamoDB)": (
                '            .condition_expression("attribute_not_exists(pk)");\n',
                '            .condition_expression("attribute_not_exists(pk) OR attribute_exists(pk)");\n',
            ),
            "end a call with any lease (DynamoDB)": (
                '" AND LeaseUntil = :until"',
                '" AND (LeaseUntil = :until OR attribute_exists(LeaseUntil))"',
            ),
            "end a call without a lease although it has one (DynamoDB)": (
                '" AND attribute_not_exists(LeaseUntil)"',
                '""',
            ),
            "assign a call with a used assignment number (DynamoDB)": (
                '"CallStatus = :pending AND attribute_not_exists(Assignment)"',
                '"CallStatus = :pending"',
            ),
            "assign a call with a number other than the next (DynamoDB)": (
                '"CallStatus = :pending AND Assignment = :unanswered"',
                '"CallStatus = :pending AND (Assignment = :unanswered OR CallStatus = :pending)"',
            ),
            "return a call that another agent attends (DynamoDB)": (
                '"CallStatus = :assigned AND Ticket = :by"',
                '"CallStatus = :assigned AND (Ticket = :by OR attribute_exists(Ticket))"',
            ),
        },
        f"{_CORE}/transaction.rs": {
            "leave only one of the agent's queues": (
                "change.steps.extend(leaving(entry.everywhere()));",
                "change.steps.extend(leaving(vec![entry.clone()]));",
            ),
            "write a call that was cancelled early as pending": (
                "let (state, at) = (CallState::Cancelled, call.arrived);",
                "let (state, at) = (CallState::Pending, call.arrived);",
            ),
            "assign an available agent with the ticket of the last stay": (
                "            fresh_ticket: Some(Ticket::fresh()),",
                "            fresh_ticket: Some(agent.ticket),",
            ),
            "return a call with its old assignment number": (
                "        unanswered: assigned.unanswered + 1,",
                "        unanswered: assigned.unanswered,",
            ),
            "add an entry for an agent who left": (
                "Self::of(vec![Step::Agent(agent.stay()), Step::Join(entry)])",
                "Self::of(vec![Step::Join(entry)])",
            ),
        },
        f"{_CORE}/agent.rs": {
            "finish with any ticket": (
                "if current == call && self.ticket == ticket =>\n            {\n                Ok(self.to(AgentState::Available",
                "if current == call && (self.ticket == ticket || self.ticket != ticket) =>\n            {\n                Ok(self.to(AgentState::Available",
            ),
            "finish with any call": (
                "if current == call && self.ticket == ticket =>\n            {\n                Ok(self.to(AgentState::Available",
                "if self.ticket == ticket && (current == call || current != call) =>\n            {\n                Ok(self.to(AgentState::Available",
            ),
            "extend a lease with any ticket": (
                "if current == call && self.ticket == ticket =>\n            {\n                Ok(self.to(AgentState::AttendingCall",
                "if current == call && (self.ticket == ticket || self.ticket != ticket) =>\n            {\n                Ok(self.to(AgentState::AttendingCall",
            ),
        },
        f"{_CORE}/matching/one_call.rs": {
            "skip the search for an agent after queueing a call": (
                "Outcome::Done => self.look_again(call, true).await,",
                "Outcome::Done => Ok(Matched { state: CallState::Pending, assignments: vec![], queued: true, expired: 0, cut_short: false }),",
            ),
            "cancel a call that the agent has answered": (
                "lease.ticket == made.ticket && !lease.answered",
                "lease.ticket == made.ticket",
            ),
            "cancel the next call of the agent": (
                "lease.ticket == made.ticket && !lease.answered",
                "!lease.answered",
            ),
            "queue a call in a line that is not open": (
                "        self.open_line(&call.criteria).await?;\n",
                "",
            ),
        },
        f"{_CORE}/transaction/assign.rs": {
            "assign without an outbox entry": (
                """        let outbox = OutboxEntry::assigned(assignment.clone());
        steps.push(Step::OutboxEntry(outbox));
        (Change::of(steps), assignment)""",
                "        (Change::of(steps), assignment)",
            ),
        },
        f"{_CORE}/matching/line.rs": {
            "assign an expired call": (
                "        if self.is_too_old(call) {\n            return self.expire_first",
                "        if self.is_too_old(call) && call.sequence == u128::MAX {\n            return self.expire_first",
            ),
            "keep the place of an ended call in the line": (
                "if ended.as_ref() == Some(&call.id) {",
                "if ended.as_ref() == Some(&call.id) && call.sequence == u128::MAX {",
            ),
            "continue matching after the deadline": (
                "        while !self.is_over() {",
                "        while !self.is_over() || !served.assignments.is_empty() {",
            ),
        },
        f"{_CORE}/matching/first_agent.rs": {
            "keep an outdated entry": (
                ".partition(|entry| outdated.contains(entry));",
                ".partition(|entry| outdated.contains(entry) && entry.agent_name.is_empty());",
            ),
        },
        f"{_CORE}/matching/lane.rs": {
            "continue with a group after a failure": (
                """            results.push(batch.passed_on(one(call).await));
            if results.last().is_some_and(Result::is_err) || self.is_over() {""",
                """            results.push(batch.passed_on(one(call).await));
            if self.is_over() {""",
            ),
            "claim agents concurrently although a call waits": (
                "        if !pending.is_empty() {",
                "        if pending.len() > calls.len() + 1 {",
            ),
            "claim agents concurrently in strict order": (
                "if in_turn || self.settings.contention_window <= 1 {",
                "if in_turn || self.settings.contention_window < 1 {",
            ),
            "let known calls of a redelivered batch claim agents": (
                "if !batch.redelivered || calls.len() < 2 {",
                "if !batch.redelivered || !calls.is_empty() {",
            ),
            "let a slow claim delay other lanes": (
                "                    place = None;\n",
                "",
            ),
            "overtake a pending call of the same criteria in strict order": (
                "        if !self\n            .store\n            .calls_in_line(&call.criteria, 1)\n            .await?\n            .is_empty()\n        {",
                "        if self\n            .store\n            .calls_in_line(&call.criteria, 1)\n            .await?\n            .len()\n            > 1\n        {",
            ),
        },
        f"{_CORE}/matching/lane/view.rs": {
            "skip any number of lost agents": (
                "            .take(most)\n",
                "            .take(most + self.lost.len())\n",
            ),
            "claim an agent twice in one batch": (
                "        claims.insert(entry.ticket);\n",
                "",
            ),
        },
        f"{_CORE}/agent/change.rs": {
            "join queues without counting the joins": (
                "AgentState::Queued { queues, .. } if self.from != AgentStatus::Queued => queues,",
                "AgentState::Queued { queues, .. } if self.from != AgentStatus::Queued => &queues[..0],",
            ),
        },
        f"{_CORE}/intake/batch.rs": {
            "leave failed messages hidden until their visibility timeout": (
                "        self.show_again(&left, deadline).await;",
                "        self.show_again(&left[left.len()..], deadline).await;",
            ),
            "wait for a match beyond its deadline": (
                "        let queue = self.queue.until(deadline);",
                "        let (queue, deadline) = (&self.queue, deadline + Duration::from_secs(86_400));",
            ),
        },
        f"{_CORE}/matching/lines.rs": {
            "end the sweep of the lines at the first failure": (
                "                Err(error) => errors.push(error),",
                "                Err(error) => {\n                    errors.push(error);\n                    break;\n                }",
            ),
            "close a line that has a pending call": (
                " && self.is_empty(&line).await? {",
                " && (self.is_empty(&line).await? || line.seen <= now) {",
            ),
            "open any number of lines": (
                "if lines.len() >= MAX_LINES &&",
                "if lines.len() > 10 * MAX_LINES &&",
            ),
        },
        f"{_CORE}/sweep.rs": {
            "end the sweep of the leases at the first failure": (
                "                    Err(error) => self.failed(error),\n                }\n            }\n            after",
                "                    Err(error) => return self.failed(error),\n                }\n            }\n            after",
            ),
        },
        f"{_CORE}/enqueue.rs": {
            "skip the search for a call after queueing an agent": (
                "            Changed::Done(agent) => self.serve_agent(agent).await?,",
                "            Changed::Done(agent) if agent.name.is_empty() => self.serve_agent(agent).await?,",
            ),
            "assign a pending call to a free agent before a queued one": (
                "if !self.first_entries(&call.criteria, 1).await?.is_empty() {",
                "if self.first_entries(&call.criteria, 1).await?.len() > 1 {",
            ),
        },
        f"{_CORE}/sweep/leases.rs": {
            "return the call of an agent who answered": (
                "            true => None,\n            false => self.assigned_by(lease).await?,",
                "            _ => self.assigned_by(lease).await?,",
            ),
        },
        f"{_CORE}/call.rs": {
            "keep a finished call without a ttl": (
                "            ttl: Some(at.plus(RETENTION).0.div_ceil(1_000_000)),",
                "            ttl: None,",
            ),
        },
        f"{_CORE}/store/dynamodb/line.rs": {
            "close a line that was opened again (DynamoDB)": (
                '.condition_expression("SeenAt = :seen")',
                '.condition_expression("SeenAt = :seen OR attribute_exists(SeenAt)")',
            ),
        },
        f"{_CORE}/dimension.rs": {
            "register an agent in more queues than one transaction can change": (
                "        if queues > MAX_QUEUES {",
                "        if queues > 2 * MAX_QUEUES {",
            ),
        },
    }
)
