"""The guards of the ingest queue and of ended-task events, and the changes that break them."""

from __future__ import annotations

from tests.guards.guard import guards_of

_CORE = "crates/lifo-queue/src"

INGEST_GUARDS = guards_of(
    {
        f"{_CORE}/ingest.rs": {
            "redeliver the whole batch": (
                "let undone = wave.iter().zip(&open).filter(|(_, message)| message.left);",
                "let any = open.iter().any(|message| message.left);\n"
                "            let undone = wave.iter().zip(&open).filter(|_| any);",
            ),
            "count the shed tasks of a message that is redelivered": (
                "let done = open.iter().filter(|message| !message.left);",
                "let done = open.iter();",
            ),
            "wait for the dead-letter queue beyond the deadline": (
                "if timeout_at(deadlines.report, closing).await.is_err() {",
                "if timeout_at(deadlines.report + std::time::Duration::from_secs(600), closing).await.is_err() {",
            ),
        },
        f"{_CORE}/ingest/write.rs": {
            "report unwritten messages as done": (
                "InsertOutcome::Left => open[index].left = true,",
                "InsertOutcome::Left => {}",
            ),
            "write expired tasks": (
                "if Ttl::Seconds(task.expires_at).is_expired(now) {",
                "if Ttl::Seconds(task.expires_at).is_expired(now) && task.created > now {",
            ),
            "write the oldest messages first": (
                "first.sort_by_key(|chain| chain.first().map(|(task, _)| Reverse(message(*task).sent)));",
                "first.sort_by_key(|chain| chain.first().map(|(task, _)| message(*task).sent));",
            ),
        },
        f"{_CORE}/ingest/catch_up.rs": {
            "receive messages without a backlog": (
                "if !batch.iter().any(is_late) || ",
                "if ",
            ),
            "receive messages before the batch is deleted": (
                "|| !self.deleted(batch, first, deadlines).await {",
                "|| self.deleted(batch, first, deadlines).await && batch.is_empty() {",
            ),
            "receive messages after a failed deletion": (
                "if !deleted || (kept.is_empty() && !is_backlog) {",
                "if kept.is_empty() && !is_backlog {",
            ),
            "delete the failed messages of a round": (
                "let done = |message: &&Delivery| !report.returned.contains(&message.id);",
                "let done = |message: &&Delivery| !message.id.is_empty();",
            ),
            "hide received messages for less than the invocation can last": (
                "self.queue.receive(left + HIDDEN_LONGER)",
                "self.queue.receive(HIDDEN_LONGER)",
            ),
            "write the oldest of the kept messages first": (
                "kept.sort_by_key(|message: &Delivery| message.sent);",
                "kept.sort_by_key(|message: &Delivery| std::cmp::Reverse(message.sent));",
            ),
            "keep messages without a limit": (
                "kept.len() >= KEPT || bytes >= KEPT_BYTES",
                "kept.len() >= KEPT && bytes >= KEPT_BYTES",
            ),
            "let postponed messages return soon": (
                "count(&self.return_kept(&oldest, true, deadlines).await);",
                "count(&self.return_kept(&oldest, false, deadlines).await);",
            ),
            "hide the kept messages after the deadline": (
                "count(&self.return_kept(&kept, false, deadlines).await);",
                "count(&IngestReport::default());",
            ),
            "receive messages until the deadline": (
                "while Instant::now() + ROUND < deadlines.writes {",
                "while Instant::now() < deadlines.writes {",
            ),
        },
        f"{_CORE}/ingest/close.rs": {
            "dead-letter invalid entries before the valid ones of their message are written": (
                "let wrong = |open: &Open<'_>| !open.left && !open.wrong.is_empty();",
                "let wrong = |open: &Open<'_>| !open.wrong.is_empty();",
            ),
            "delete a message that the dead-letter queue rejected": (
                'queue; SQS redelivers them"\n                    );\n                    open[owner].left = true;',
                'queue; SQS redelivers them"\n                    );',
            ),
            "send a task to the shed queue if a part of its message failed": (
                "for (index, message) in open.iter().enumerate().filter(|(_, open)| !open.left) {",
                "for (index, message) in open.iter().enumerate() {",
            ),
            "delete a message whose tasks the shed queue rejected": (
                "for owner in owners.drain(first.unwrap_or(tasks.len())..) {",
                "for owner in owners.drain(tasks.len()..) {",
            ),
        },
        f"{_CORE}/ingest/admission.rs": {
            "decide about the admission of a redelivered message again": (
                "if message.receives > 1 {",
                "if message.receives > 1_000_000 {",
            ),
            "shed tasks with a key or a delay before the first write": (
                "let may_shed = task.keyed.is_none() && task.not_before.is_none();",
                "let may_shed = true;",
            ),
        },
        f"{_CORE}/control.rs": {
            "shed tasks by a capacity that no processor confirms": (
                "let counts = capacity.is_recent(now) || self.is_paused(now);",
                "let counts = true;",
            ),
        },
        f"{_CORE}/process/observe.rs": {
            "measure a capacity while a slot is free": (
                "let was_free = self.free > passed.mul_f64(FREE);",
                "let was_free = self.free > passed;",
            ),
        },
        f"{_CORE}/ingest/message.rs": {
            "give a task without an id a new one at each delivery": (
                "let id = || TaskId::from_stored(delivery.id.as_str());",
                "let id = TaskId::fresh;",
            ),
            "number the tasks of an array by their place among the valid ones": (
                'let id = || TaskId::from_stored(format!("{}#{index}", delivery.id));',
                "let place = contents.tasks.len();\n"
                '                let id = || TaskId::from_stored(format!("{}#{place}", delivery.id));',
            ),
        },
        f"{_CORE}/ingest/insert.rs": {
            "stop at the first throttled request": (
                "patience.is_some_and(|end| Instant::now() < end)",
                "false",
            ),
            "write old messages while the table throttles": (
                "if patience.is_none() && limits.backpressure.is_on() {",
                "if false {",
            ),
            "write beyond the deadline": (
                "match timeout_at(until, insert).await {",
                "match timeout_at(until + Duration::from_secs(600), insert).await {",
            ),
            "redeliver an item that DynamoDB rejects": (
                "Ok(Err(error)) if error.is_validation() =>",
                "Ok(Err(error)) if error.is_validation() && error.is_transient() =>",
            ),
        },
        f"{_CORE}/create/spec.rs": {
            "accept a creation time in the future": (
                "Ok(Millis(at).min(sent))",
                "Ok(Millis(at))",
            ),
            "read seconds as milliseconds": (
                "Some(at) if (FIRST_MILLIS..=sent.plus(MAX_AHEAD).0).contains(&at) => {",
                "Some(at) if (0..=sent.plus(MAX_AHEAD).0).contains(&at) => {",
            ),
        },
        f"{_CORE}/ingest/waves.rs": {
            "process a whole batch in one wave, whatever memory it needs": (
                "match waves.last_mut().filter(|_| weight <= left) {",
                "match waves.last_mut().filter(|_| weight <= left || most > 0) {",
            ),
            "weigh messages by their number only": (
                "body.len() * TEXT_FACTOR + (values + 1) * VALUE_BYTES",
                "body.len().min(1) * TEXT_FACTOR + values.min(1) * VALUE_BYTES",
            ),
        },
        "lambdas/count-shed/src/main.rs": {
            "count a shed task of a redelivered event": (
                "self.counter.count(batch.shed_before(unpublished)).await",
                "self.counter.count(batch.shed_before(None)).await",
            ),
        },
        f"{_CORE}/ended.rs": {
            "publish the end of a task again": (
                "if earlier.is_settled() || !task_status.is_settled() {",
                "if !task_status.is_settled() {",
            ),
        },
    }
)
