"""The task queue's guards, and the changes that break them: a text of the source, and its replacement.

Each changed source compiles, and DynamoDB accepts its requests. So only a test of the guard's purpose
can fail. A guard whose name ends with a store in brackets is broken only in that store.
"""

from __future__ import annotations

from tests.guards.guard import Change, Guard, one_change

_CORE = "crates/lifo-queue/src"
_DYNAMODB = f"{_CORE}/store/dynamodb.rs"
_STEPS = f"{_CORE}/process/attempt/steps.rs"
_VERDICT = f"{_CORE}/process/attempt/verdict.rs"
#: The text that returns a task, for `str.format`, which needs double braces.
_RETURNED = """                attempt_counts: {counts},
                lease_expired: false,
                reason,
            }},
            Why::{why},"""
_UPDATE = f"{_CORE}/store/dynamodb/update.rs"
_RECLAIM = f"{_CORE}/store/dynamodb/reclaim.rs"
_DYNAMODB_CONTROL = f"{_CORE}/store/dynamodb/control.rs"
_BREAKER = f"{_CORE}/process/downstream/breaker.rs"
_GROUPS = f"{_CORE}/process/downstream/groups.rs"
_RECORD = f"{_CORE}/store/memory/record.rs"


GUARDS: tuple[Guard, ...] = (
    one_change(
        "settle and return without the token (DynamoDB)",
        _UPDATE,
        '"taskStatus = :taken AND leaseToken = :token AND attribute_not_exists(overtaken)",',
        '"taskStatus = :taken AND (leaseToken = :token OR attribute_exists(leaseToken)) '
        'AND attribute_not_exists(overtaken)",',
    ),
    one_change(
        "settle by id only (DynamoDB)",
        _UPDATE,
        """        let update = self
            .held(lease)
            .update_expression(format!(
                "SET taskStatus = :target, taskUpdated = :now, #ttl = :ttl{set_error} \\""",
        """        let update = self
            .held(lease)
            .condition_expression("attribute_exists(taskStatus) OR (taskStatus = :taken AND leaseToken = :token)")
            .update_expression(format!(
                "SET taskStatus = :target, taskUpdated = :now, #ttl = :ttl{set_error} \\""",
    ),
    one_change(
        "take an expired task (DynamoDB)",
        _UPDATE,
        '"#ttl > :nowSeconds AND #ttl <= :maxSeconds"',
        '"(#ttl > :nowSeconds OR #ttl <= :maxSeconds)"',
    ),
    one_change(
        "offer expired tasks to the selection",
        f"{_CORE}/process/filter.rs",
        "if task.ttl.is_expired(self.now) {",
        "if task.ttl.is_expired(Millis(0)) {",
    ),
    one_change(
        "take a task that is not due (DynamoDB)",
        _UPDATE,
        '"taskStatus = :pending AND NOT (notBefore > :now) AND {in_time} ',
        '"taskStatus = :pending AND {in_time} ',
    ),
    one_change(
        "end a lease that has not expired (DynamoDB)",
        _RECLAIM,
        'AND leaseUntil <= :now \\\n                 AND attribute_not_exists(overtaken) AND {condition}"',
        'AND leaseUntil <> :now \\\n                 AND attribute_not_exists(overtaken) AND {condition}"',
    ),
    one_change(
        "fail a task whose last lease was not alone",
        _RECORD,
        "Reclaim::Fail { .. } => self.alone && !self.overtaken,",
        "Reclaim::Fail { .. } => !self.overtaken,",
    ),
    one_change(
        "release without the counter",
        f"{_CORE}/process/turn/empty.rs",
        "Some(self.seen)",
        "None",
    ),
    one_change(
        "release without the counter (DynamoDB)",
        _DYNAMODB_CONTROL,
        '" AND requested = :seen"',
        '" AND (requested = :seen OR attribute_exists(requested))"',
    ),
    one_change(
        "tail call before the release",
        f"{_CORE}/process/finish.rs",
        "        self.release(release, learning, summary).await?;\n        if summary.idle_turns",
        """        let early = Notification {
            reason: WakeReason::TailCall,
            event: release.owner.to_string(),
            trace: None,
        };
        self.notifier.tail_call(&early).await?;
        summary.tail_call = true;
        self.release(release, learning, summary).await?;
        if summary.tail_call {
            summary.exit = Exit::TimeUp;
            return Ok(());
        }
        if summary.idle_turns""",
    ),
    one_change(
        "owner = message id",
        f"{_CORE}/process.rs",
        "let owner = Uuid::new_v4();",
        """let owner = Uuid::from_u128({
            let mut hasher = std::hash::DefaultHasher::new();
            std::hash::Hash::hash(&invocation.message_id, &mut hasher);
            std::hash::Hasher::finish(&hasher).into()
        });""",
    ),
    one_change(
        "count busy as an attempt",
        _VERDICT,
        _RETURNED.format(counts="false", why="Busy"),
        _RETURNED.format(counts="true", why="Busy"),
    ),
    one_change(
        "release without the wait for the index",
        f"{_CORE}/process/turn/empty.rs",
        "let lingered = since.plus(self.processor.settings.index_lag);",
        "let lingered = since;",
    ),
    one_change(
        "continue after the processor lease was lost",
        f"{_CORE}/process/turn/gate.rs",
        "LeaseState::Others => return Gate::End(TurnEnd::LeaseLost),",
        "LeaseState::Others => {}",
    ),
    one_change(
        "publish although the request failed",
        f"{_CORE}/wake.rs",
        "let control = self.store.request().await?;",
        "let control = self.store.request().await.unwrap_or_default();",
    ),
    one_change(
        "redrive without widening the bound of the index read",
        f"{_CORE}/store/dynamodb/operator.rs",
        "self.widen_bound(created, redrive.expires_at, now).await?;",
        "let _unbound = created;",
    ),
    one_change(
        "redrive a newer state whose age is not recorded",
        f"{_CORE}/store/dynamodb/operator.rs",
        '"taskStatus = :failure AND taskCreated = :created"',
        '"taskStatus = :failure AND (taskCreated = :created OR attribute_exists(taskCreated))"',
    ),
    one_change(
        "refill the rate limit at every turn",
        f"{_CORE}/process/rate.rs",
        "let full_at = full_at.map_or(now, since_epoch).clamp(now, empty);",
        "let full_at = full_at.map_or(now, |_| now).clamp(now, empty);",
    ),
    one_change(
        "abandon a settlement after its first throttled requests",
        _STEPS,
        "let mut waits = patience().without_max_times().build();",
        "let mut waits = patience().with_max_times(0).build();\n"
        "        if waits.next().is_none() {\n            return Err(last);\n        }",
    ),
    one_change(
        "retry a settlement beyond the end of the turn",
        _STEPS,
        "tokio::time::sleep(self.settings.deadline_margin / 2).await;",
        "tokio::time::sleep(self.settings.deadline_margin * 60).await;",
    ),
    one_change(
        "start a task on a lease that is too short for it",
        f"{_CORE}/process/attempt.rs",
        "lease.until.since(self.clock.now()) < needed",
        "lease.until.since(self.clock.now()) > lease.until.since(Millis(0)) + needed",
    ),
    one_change(
        "return a task without recording that its lease expired",
        f"{_CORE}/process/attempt.rs",
        "back.lease_expired = suspect;",
        "back.lease_expired = suspect && back.attempt_counts != back.attempt_counts;",
    ),
    one_change(
        "return a task without recording that its lease expired (DynamoDB)",
        _UPDATE,
        "token: Some(lease.token),\n                lease_expired: true,",
        "token: Some(lease.token),\n                lease_expired: false,",
    ),
    one_change(
        "use the second try's time for a take that the first try made (DynamoDB)",
        _DYNAMODB,
        "lease.until = item::lease_until(&item).unwrap_or(lease.until);",
        "lease.until = item::lease_until(&item).map_or(lease.until, |_| lease.until);",
    ),
    one_change(
        "end the sweep at the first task that it cannot change",
        f"{_CORE}/sweep.rs",
        "while report.transient_errors < MAX_TRANSIENT_ERRORS",
        "while report.errors == 0",
    ),
    one_change(
        "return no task whose item has no space for its lastError",
        _DYNAMODB,
        "if error.is_validation() && matches!(reason, LastError::Is(_)) => {",
        "if error.is_transient() && matches!(reason, LastError::Is(_)) => {",
    ),
    one_change(
        "quarantine a task without comparing its ttl (DynamoDB)",
        _UPDATE,
        'Ttl::Seconds(at) => ("#ttl >= :seen AND #ttl < :above", Some(at.0)),',
        'Ttl::Seconds(at) => ("(#ttl >= :seen OR #ttl < :above)", Some(at.0)),',
    ),
    one_change(
        "quarantine a newer state for an older one (DynamoDB)",
        _UPDATE,
        "AND taskCreated >= :created AND taskCreated < :later ",
        "AND (taskCreated >= :created OR taskCreated < :later) ",
    ),
    one_change(
        "retry without backoff when the downstream asks for it",
        _VERDICT,
        "asked.min(MAX_RETRY_AFTER).max(jitter)",
        "asked.min(MAX_RETRY_AFTER)",
    ),
    one_change(
        "never open the circuit breaker",
        _BREAKER,
        "self.threshold.is_some_and(|most| self.opens_at(most))",
        "self.threshold.is_some_and(|most| most > 1_000 && self.opens_at(most))",
    ),
    one_change(
        "count an attempt although the circuit breaker is open",
        _VERDICT,
        _RETURNED.format(counts="false", why="Unavailable"),
        _RETURNED.format(counts="true", why="Unavailable"),
    ),
    one_change(
        "probe with the newest task only",
        _BREAKER,
        "if !farthest {",
        "if open.probes < u32::MAX {",
    ),
    one_change(
        "probe with the oldest untried task",
        _BREAKER,
        "untried.into_iter().max_by_key",
        "untried.into_iter().min_by_key",
    ),
    one_change(
        "forget an open circuit breaker at a release",
        f"{_CORE}/process/turn.rs",
        "let breaker = self.downstream.lock().queue().open_breaker();",
        "let breaker = self.downstream.lock().queue().open_breaker().filter(|open| open.probes == u32::MAX);",
    ),
    Guard(
        "keep the circuit breaker open after a result",
        (Change(_BREAKER, "Signal::Result => self.got_result(now),", "Signal::Result => self.without_result.clear(),"),),
    ),
    one_change(
        "pause the queue although a run got a result",
        f"{_CORE}/process/downstream.rs",
        "self.walls.got_result(self.breaker.newest_run());",
        "let _ = self.breaker.newest_run();",
    ),
    one_change(
        "keep the pages read before a probe",
        f"{_CORE}/process/turn/probe.rs",
        "new head.\n        self.selector.restart();",
        "new head.",
    ),
    one_change(
        "purge a running task",
        f"{_CORE}/store/dynamodb/operator.rs",
        "taskStatus IN (:pending, :success, :failure)",
        "attribute_exists(taskStatus) OR taskStatus IN (:pending, :success, :failure)",
    ),
    one_change(
        "close a circuit breaker that an operator holds open",
        f"{_CORE}/process/downstream/breaker/hand.rs",
        "self.close();\n        if self.is_held(now) {\n            self.open_at(now);",
        "self.close();\n        if self.is_held(now) {",
    ),
    one_change(
        "ignore an operator that closes the circuit breaker",
        f"{_CORE}/process/downstream/breaker/hand.rs",
        "self.know(control, now);\n        if !self.is_held(now) {",
        "self.know(control, now);\n        if !self.is_held(now) && self.hand.commands == u64::MAX {",
    ),
    one_change(
        "write what a former processor learned (DynamoDB)",
        f"{_CORE}/store/dynamodb/groups.rs",
        'Some(_) => "learnedBy = :seen",',
        'Some(_) => "(learnedBy = :seen OR attribute_exists(learnedBy))",',
    ),
    one_change(
        "overwrite another operator's override (DynamoDB)",
        f"{_CORE}/store/dynamodb/groups.rs",
        '.condition_expression("changes = :changes")',
        '.condition_expression("changes = :changes OR attribute_exists(changes)")',
    ),
    one_change(
        "release before the write of what was learned about groups",
        f"{_CORE}/process/turn/empty.rs",
        "if let Err(error) = self.learn().await {",
        "if let (true, Err(error)) = (self.seen == u64::MAX, self.learn().await) {",
    ),
    one_change(
        "start groups with full burst allowances after a crash",
        _GROUPS,
        "false => Some(now),",
        "false => states.learned.empty_at,",
    ),
    one_change(
        "start limited groups after a crash without a count",
        _GROUPS,
        "false => Some(now.plus(lag)),",
        "false => (lag.is_zero()).then(|| now.plus(lag)),",
    ),
    one_change(
        "forget that the turn before did not count the tasks of a crashed processor",
        _GROUPS,
        "true => uncounted,",
        "true => uncounted.filter(|at| *at == Millis::MAX),",
    ),
    one_change(
        "open the breaker of a group as late as that of a queue",
        f"{_CORE}/process/downstream/breakers.rs",
        "ledger.breaker.opens_early();",
        "if last_start == Millis::MAX {\n        ledger.breaker.opens_early();\n    }",
    ),
    one_change(
        "probe with the newest task of a group each time",
        f"{_CORE}/process/groups.rs",
        "let is_probed = gates.is_probed(name);",
        "let is_probed = gates.is_probed(name) && name.is_empty();",
    ),
    one_change(
        "leave a breaker of a group out of what the turn learned",
        f"{_CORE}/process/downstream/groups/learning.rs",
        "learned.breaker = breakers.open(name);",
        "learned.breaker = breakers.open(name).filter(|open| open.probes == u32::MAX);",
    ),
    one_change(
        "forget a lease that the turn could not end",
        _GROUPS,
        "if !is_known {",
        "if !is_known && until == Millis::MAX {",
    ),
    one_change(
        "wake a processor for tasks of closed groups",
        f"{_CORE}/sweep/pending.rs",
        "task.not_before.max(closed).is_none_or(|at| at <= now)",
        "task.not_before.max(closed.filter(|at| *at == Millis::MAX)).is_none_or(|at| at <= now)",
    ),
)
