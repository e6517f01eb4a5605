"""The guards of the ingest queue and of the events of ended tasks, and the changes that break them."""

from __future__ import annotations

from tests.guards.guard import Guard, one_change

_INGEST = "crates/lifo-queue/src/ingest.rs"
_CLOSE = "crates/lifo-queue/src/ingest/close.rs"
_MESSAGE = "crates/lifo-queue/src/ingest/message.rs"
_INSERT = "crates/lifo-queue/src/ingest/insert.rs"
_WAVES = "crates/lifo-queue/src/ingest/waves.rs"
_ADMISSION = "crates/lifo-queue/src/ingest/admission.rs"
_SPEC = "crates/lifo-queue/src/create/spec.rs"


INGEST_GUARDS: tuple[Guard, ...] = (
    one_change(
        "report unwritten messages as done",
        _INGEST,
        "InsertOutcome::Left => open[index].left = true,",
        "InsertOutcome::Left => {}",
    ),
    one_change(
        "redeliver the whole batch",
        _INGEST,
        "let undone = wave.iter().zip(&open).filter(|(_, message)| message.left);",
        "let any = open.iter().any(|message| message.left);\n"
        "            let undone = wave.iter().zip(&open).filter(|_| any);",
    ),
    one_change(
        "dead-letter invalid entries before the valid ones of their message are written",
        _CLOSE,
        "let wrong = |open: &Open<'_>| !open.left && !open.wrong.is_empty();",
        "let wrong = |open: &Open<'_>| !open.wrong.is_empty();",
    ),
    one_change(
        "delete a message that the dead-letter queue rejected",
        _CLOSE,
        'queue; SQS redelivers them"\n                    );\n                    open[owner].left = true;',
        'queue; SQS redelivers them"\n                    );',
    ),
    one_change(
        "write expired tasks",
        _INGEST,
        "if Ttl::Seconds(task.expires_at).is_expired(now) {",
        "if Ttl::Seconds(task.expires_at).is_expired(now) && task.created > now {",
    ),
    one_change(
        "write the oldest messages first",
        _INGEST,
        "first.sort_by_key(|chain| chain.first().map(|(index, _)| Reverse(batch[*index].sent)));",
        "first.sort_by_key(|chain| chain.first().map(|(index, _)| batch[*index].sent));",
    ),
    one_change(
        "decide about the admission of a redelivered message again",
        _ADMISSION,
        "if message.receives > 1 {",
        "if message.receives > 1_000_000 {",
    ),
    one_change(
        "shed tasks with a key or a delay before the first write",
        _ADMISSION,
        "let may_shed = task.keyed.is_none() && task.not_before.is_none();",
        "let may_shed = true;",
    ),
    one_change(
        "count a task as shed if a part of its message failed",
        _CLOSE,
        "for (index, message) in open.iter().enumerate().filter(|(_, open)| !open.left) {",
        "for (index, message) in open.iter().enumerate() {",
    ),
    one_change(
        "count the shed tasks of a message that the shed queue took in part",
        _CLOSE,
        "let first = |index: usize| owners.partition_point(|owner| *owner < owners[index]);",
        "let first = |index: usize| index;",
    ),
    one_change(
        "shed tasks by a capacity that no processor confirms",
        "crates/lifo-queue/src/control.rs",
        "let counts = capacity.is_recent(now) || self.is_paused(now);",
        "let counts = true;",
    ),
    one_change(
        "measure a capacity while a slot is free",
        "crates/lifo-queue/src/process/capacity.rs",
        "let was_free = self.free > passed.mul_f64(FREE);",
        "let was_free = self.free > passed;",
    ),
    one_change(
        "wait for the dead-letter queue beyond the deadline",
        _INGEST,
        "if timeout_at(deadlines.report, closing).await.is_err() {",
        "if timeout_at(deadlines.report + std::time::Duration::from_secs(600), closing).await.is_err() {",
    ),
    one_change(
        "give a task without an id a new one at each delivery",
        _MESSAGE,
        "let id = || TaskId::from_stored(delivery.id.as_str());",
        "let id = TaskId::fresh;",
    ),
    one_change(
        "number the tasks of an array by their place among the valid ones",
        _MESSAGE,
        'let id = || TaskId::from_stored(format!("{}#{index}", delivery.id));',
        "let place = contents.tasks.len();\n"
        '                let id = || TaskId::from_stored(format!("{}#{place}", delivery.id));',
    ),
    one_change(
        "stop at the first throttled request",
        _INSERT,
        "patience.is_some_and(|end| Instant::now() < end)",
        "false",
    ),
    one_change(
        "write old messages while the table throttles",
        _INSERT,
        "if patience.is_none() && limits.backpressure.is_on() {",
        "if false {",
    ),
    one_change(
        "write beyond the deadline",
        _INSERT,
        "match timeout_at(until, insert).await {",
        "match timeout_at(until + Duration::from_secs(600), insert).await {",
    ),
    one_change(
        "redeliver an item that DynamoDB rejects",
        _INSERT,
        "Ok(Err(error)) if error.is_validation() =>",
        "Ok(Err(error)) if error.is_validation() && error.is_transient() =>",
    ),
    one_change(
        "accept a creation time in the future",
        _SPEC,
        "Ok(Millis(at).min(sent))",
        "Ok(Millis(at))",
    ),
    one_change(
        "read seconds as milliseconds",
        _SPEC,
        "Some(at) if (FIRST_MILLIS..=sent.plus(MAX_AHEAD).0).contains(&at) => {",
        "Some(at) if (0..=sent.plus(MAX_AHEAD).0).contains(&at) => {",
    ),
    one_change(
        "process a whole batch at once, whatever memory it needs",
        _WAVES,
        "match waves.last_mut().filter(|_| weight <= left) {",
        "match waves.last_mut().filter(|_| weight <= left || most > 0) {",
    ),
    one_change(
        "weigh messages by their number only",
        _WAVES,
        "body.len() * TEXT_FACTOR + (values + 1) * VALUE_BYTES",
        "body.len().min(1) * TEXT_FACTOR + values.min(1) * VALUE_BYTES",
    ),
    one_change(
        "count a shed task of a redelivered event",
        "lambdas/count-shed/src/main.rs",
        "self.counter.count(batch.shed_before(unpublished)).await",
        "self.counter.count(batch.shed_before(None)).await",
    ),
    one_change(
        "publish the end of a task again",
        "crates/lifo-queue/src/ended.rs",
        "if earlier.is_settled() || !task_status.is_settled() {",
        "if !task_status.is_settled() {",
    ),
)
