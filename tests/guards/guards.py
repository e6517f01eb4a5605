"""The queue's guards, and how each is broken: text of the source, and its replacement.

Each change compiles and is accepted by DynamoDB, so only a test that knows the guard's purpose can
tell. A guard that two stores keep is broken in both at once, or in each where that says more.
"""

from __future__ import annotations

from tests.guards.guard import Change, Guard

_CORE = "crates/lifo-queue/src"
_DYNAMODB = f"{_CORE}/store/dynamodb.rs"
_STEPS = f"{_CORE}/process/attempt/steps.rs"
_VERDICT = f"{_CORE}/process/attempt/verdict.rs"
#: What a task is returned with; braces twice for `str.format`.
_RETURNED = """                attempt_counts: {counts},
                lease_ran_out: false,
                reason,
            }},
            Why::{why},"""
_UPDATE = f"{_CORE}/store/dynamodb/update.rs"
_DYNAMODB_CONTROL = f"{_CORE}/store/dynamodb/control.rs"
_MEMORY = f"{_CORE}/store/memory.rs"
_BREAKER = f"{_CORE}/process/breaker.rs"
_MEMORY_CONTROL = f"{_CORE}/store/memory/control.rs"
_RECORD = f"{_CORE}/store/memory/record.rs"


GUARDS: tuple[Guard, ...] = (
    Guard(
        "settle and return without the token (DynamoDB)",
        (
            Change(
                _UPDATE,
                '"#status = :taken AND #token = :token AND attribute_not_exists(#overtaken)",',
                '"#status = :taken AND (#token = :token OR attribute_exists(#token)) AND attribute_not_exists(#overtaken)",',
            ),
        ),
    ),
    Guard(
        "settle and return without the token (memory)",
        (
            Change(
                _RECORD,
                "self.status == status && self.lease_token == Some(lease.token)",
                "self.status == status && lease.token == lease.token",
            ),
        ),
    ),
    Guard(
        "settle by id only (DynamoDB)",
        (
            Change(
                _UPDATE,
                """        let update = self
            .held(lease)
            .update_expression(format!(
                "SET #status = :target, #updated = :now, #ttl = :ttl{set_error} \\""",
                """        let update = self
            .held(lease)
            .condition_expression("attribute_exists(#status) OR (#status = :taken AND #token = :token)")
            .update_expression(format!(
                "SET #status = :target, #updated = :now, #ttl = :ttl{set_error} \\""",
            ),
        ),
    ),
    Guard(
        "settle by id only (memory)",
        (
            Change(
                _MEMORY,
                "if record.is_ours(TaskStatus::Taken, lease) {",
                "if record.lease_token.is_some() {",
            ),
        ),
    ),
    Guard(
        "take what has expired (DynamoDB)",
        (
            Change(
                _UPDATE,
                '"#ttl > :nowSeconds AND #ttl <= :maxSeconds"',
                '"(#ttl > :nowSeconds OR #ttl <= :maxSeconds)"',
            ),
        ),
    ),
    Guard(
        "take what has expired (memory)",
        (
            Change(
                _RECORD,
                """            && self.not_before.is_none_or(|at| at <= now)
            && !self.ttl.is_expired(now)""",
                "            && self.not_before.is_none_or(|at| at <= now)",
            ),
        ),
    ),
    Guard(
        "show what has expired to the selection",
        (
            Change(
                f"{_CORE}/process/select.rs",
                "if task.ttl.is_expired(now) {",
                "if task.ttl.is_expired(Millis(0)) {",
            ),
        ),
    ),
    Guard(
        "take a task that is not due (DynamoDB)",
        (
            Change(
                _UPDATE,
                '"#status = :pending AND NOT (#notBefore > :now) AND {in_time} ',
                '"#status = :pending AND {in_time} ',
            ),
        ),
    ),
    Guard(
        "reclaim a lease that stands (DynamoDB)",
        (
            Change(
                _UPDATE,
                'AND #until <= :now \\\n                 AND attribute_not_exists(#overtaken){alone}"',
                'AND #until <> :now \\\n                 AND attribute_not_exists(#overtaken){alone}"',
            ),
        ),
    ),
    Guard(
        "reclaim a lease that stands (memory)",
        (
            Change(
                _MEMORY,
                "&& record.lease_until.is_some_and(|until| until <= now)",
                "&& record.lease_until.is_some_and(|until| until != now || until == now)",
            ),
        ),
    ),
    Guard(
        "fail a task whose neighbour may have killed the process",
        (
            Change(
                _MEMORY,
                "Reclaim::Fail { .. } => record.alone && !record.overtaken,",
                "Reclaim::Fail { .. } => !record.overtaken,",
            ),
        ),
    ),
    Guard(
        "release without the counter",
        (
            Change(
                f"{_CORE}/process/turn/empty.rs",
                "Some(self.seen)",
                "None",
            ),
        ),
    ),
    Guard(
        "release without the counter (DynamoDB)",
        (
            Change(
                _DYNAMODB_CONTROL,
                '" AND #requested = :seen"',
                '" AND (#requested = :seen OR attribute_exists(#requested))"',
            ),
        ),
    ),
    Guard(
        "tail call before the release",
        (
            Change(
                f"{_CORE}/process/finish.rs",
                "        self.release(release, summary).await?;\n        if summary.idle_turns",
                """        let early = Notification {
            reason: WakeReason::TailCall,
            event: release.owner.to_string(),
        };
        self.notifier.tail_call(&early).await?;
        summary.tail_call = true;
        self.release(release, summary).await?;
        if summary.tail_call {
            summary.exit = Exit::TimeUp;
            return Ok(());
        }
        if summary.idle_turns""",
            ),
        ),
    ),
    Guard(
        "owner = message id",
        (
            Change(
                f"{_CORE}/process.rs",
                "let owner = Uuid::new_v4();",
                """let owner = Uuid::from_u128({
            let mut hasher = std::hash::DefaultHasher::new();
            std::hash::Hash::hash(&invocation.message_id, &mut hasher);
            std::hash::Hasher::finish(&hasher).into()
        });""",
            ),
        ),
    ),
    Guard(
        "acquire a lease that is live (memory)",
        (
            Change(
                _MEMORY_CONTROL,
                ".filter(|lease| lease.owner != claim.owner)",
                ".filter(|lease| lease.owner == claim.owner && lease.until < now)",
            ),
        ),
    ),
    Guard(
        "count busy as an attempt",
        (
            Change(
                _VERDICT,
                _RETURNED.format(counts="false", why="Busy"),
                _RETURNED.format(counts="true", why="Busy"),
            ),
        ),
    ),
    Guard(
        "skip the linger",
        (
            Change(
                f"{_CORE}/process/turn/empty.rs",
                "let lingered = since.plus(self.processor.settings.index_lag);",
                "let lingered = since;",
            ),
        ),
    ),
    Guard(
        "go on after the lease was lost",
        (
            Change(
                f"{_CORE}/process/turn/gate.rs",
                "LeaseState::Others => return Gate::End(TurnEnd::LeaseLost),",
                "LeaseState::Others => {}",
            ),
        ),
    ),
    Guard(
        "publish although the request failed",
        (
            Change(
                f"{_CORE}/wake.rs",
                "let control = self.store.request().await?;",
                "let control = self.store.request().await.unwrap_or_default();",
            ),
        ),
    ),
    Guard(
        "redrive without remembering the task's age",
        (
            Change(
                f"{_CORE}/store/dynamodb/operator.rs",
                "self.widen_bound(created, redrive.expires_at, now).await?;",
                "let _unbound = created;",
            ),
        ),
    ),
    Guard(
        "refill the rate limit at every turn",
        (
            Change(
                f"{_CORE}/process/rate.rs",
                "let full_at = full_at.map_or(now, since_epoch).clamp(now, empty);",
                "let full_at = full_at.map_or(now, |_| now).clamp(now, empty);",
            ),
        ),
    ),
    Guard(
        "give a settlement up after a few throttled tries",
        (
            Change(
                _STEPS,
                "let mut waits = patience().without_max_times().build();",
                "let mut waits = patience().with_max_times(0).build();\n"
                "        if waits.next().is_none() {\n            return Err(last);\n        }",
            ),
        ),
    ),
    Guard(
        "retry a settlement beyond the end of the turn",
        (
            Change(
                _STEPS,
                "tokio::time::sleep(self.settings.deadline_margin / 2).await;",
                "tokio::time::sleep(self.settings.deadline_margin * 60).await;",
            ),
        ),
    ),
    Guard(
        "start a task on a lease that is nearly over",
        (
            Change(
                f"{_CORE}/process/attempt.rs",
                "lease.until.since(self.clock.now()) < needed",
                "lease.until.since(self.clock.now()) > lease.until.since(Millis(0)) + needed",
            ),
        ),
    ),
    Guard(
        "forget at a return that a lease expired",
        (
            Change(
                f"{_CORE}/process/attempt.rs",
                "back.lease_ran_out = suspect;",
                "back.lease_ran_out = suspect && back.attempt_counts != back.attempt_counts;",
            ),
        ),
    ),
    Guard(
        "forget at a return that a lease expired (DynamoDB)",
        (
            Change(
                _UPDATE,
                "token: Some(lease.token),\n                lease_ran_out: true,",
                "token: Some(lease.token),\n                lease_ran_out: false,",
            ),
        ),
    ),
    Guard(
        "keep the lease of the repeated take (DynamoDB)",
        (
            Change(
                _DYNAMODB,
                "lease.until = item::lease_until(&item).unwrap_or(lease.until);",
                "lease.until = item::lease_until(&item).map_or(lease.until, |_| lease.until);",
            ),
        ),
    ),
    Guard(
        "end the sweep at the first task that it cannot change",
        (
            Change(
                f"{_CORE}/sweep.rs",
                "while report.unanswered < MAX_UNANSWERED",
                "while report.errors == 0",
            ),
        ),
    ),
    Guard(
        "insist on a lastError that the item has no space for",
        (
            Change(
                _DYNAMODB,
                "if error.is_validation() && matches!(reason, LastError::Is(_)) => {",
                "if error.is_transient() && matches!(reason, LastError::Is(_)) => {",
            ),
        ),
    ),
    Guard(
        "quarantine whatever the ttl is by now (DynamoDB)",
        (
            Change(
                _UPDATE,
                '"#status = :pending AND #ttl = :seen"',
                '"#status = :pending AND (#ttl = :seen OR attribute_exists(#ttl))"',
            ),
        ),
    ),
    Guard(
        "let a downstream switch the backoff off",
        (
            Change(
                _VERDICT,
                "asked.min(MAX_RETRY_AFTER).max(jitter)",
                "asked.min(MAX_RETRY_AFTER)",
            ),
        ),
    ),
    Guard(
        "never open the circuit breaker",
        (
            Change(
                _BREAKER,
                "self.threshold.is_some_and(|most| self.opens_at(most))",
                "self.threshold.is_some_and(|most| most > 1_000 && self.opens_at(most))",
            ),
        ),
    ),
    Guard(
        "count an attempt although the circuit breaker is open",
        (
            Change(
                _VERDICT,
                _RETURNED.format(counts="false", why="Unavailable"),
                _RETURNED.format(counts="true", why="Unavailable"),
            ),
        ),
    ),
    Guard(
        "probe with the newest task only",
        (Change(_BREAKER, "_ if !open.probes.is_multiple_of(2) =>", "_ if open.probes < u32::MAX =>"),),
    ),
    Guard(
        "forget an open circuit breaker at a release",
        (
            Change(
                f"{_CORE}/process/turn.rs",
                "let breaker = self.breaker.lock().state();",
                "let breaker = self.breaker.lock().state().filter(|open| open.probes == u32::MAX);",
            ),
        ),
    ),
    Guard(
        "keep the circuit breaker open after an answer",
        (Change(_BREAKER, "Signal::Answered => self.answered(now),", "Signal::Answered => self.unanswered.clear(),"),),
    ),
    Guard(
        "purge a task that runs",
        (
            Change(
                f"{_CORE}/store/dynamodb/operator.rs",
                "#status IN (:pending, :success, :failure)",
                "attribute_exists(#status) OR #status IN (:pending, :success, :failure)",
            ),
        ),
    ),
    Guard(
        "close a circuit breaker that an operator holds open",
        (
            Change(
                f"{_CORE}/process/breaker/hand.rs",
                "self.closed = false;\n            self.open_at(now);",
                "self.closed = false;",
            ),
        ),
    ),
    Guard(
        "ignore an operator that closes the circuit breaker",
        (
            Change(
                f"{_CORE}/process/breaker/hand.rs",
                "if !self.is_held(now) {",
                "if !self.is_held(now) && self.hand.commands == u64::MAX {",
            ),
        ),
    ),
)
