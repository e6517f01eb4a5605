"""The task queue's guards, and the changes that break them. A change is a source text and its replacement.

Each changed source compiles, and DynamoDB accepts its requests. Therefore, only a test of the guard's purpose can fail.
A guard whose name ends with a store in brackets is broken only in that store.
"""

from __future__ import annotations

from tests.guards.guard import guards_of

_CORE = "crates/lifo-queue/src"


GUARDS = guards_of(
    {
        f"{_CORE}/store/dynamodb/update.rs": {
            "count the start of a task that did not start": (
                '", attempts = attempts - :one, totalAttempts = totalAttempts - :one"',
                '", attempts = attempts - :one"',
            ),
            "settle and return without the token (DynamoDB)": (
                '"taskStatus = :taken AND leaseToken = :token AND attribute_not_exists(overtaken)",',
                '"taskStatus = :taken AND (leaseToken = :token OR attribute_exists(leaseToken)) '
                'AND attribute_not_exists(overtaken)",',
            ),
            "settle by id only (DynamoDB)": (
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
            "take an expired task (DynamoDB)": (
                '"#ttl > :nowSeconds AND #ttl <= :maxSeconds"',
                '"(#ttl > :nowSeconds OR #ttl <= :maxSeconds)"',
            ),
            "take a task that is not due (DynamoDB)": (
                '"taskStatus = :pending AND NOT (notBefore > :now) AND {in_time} ',
                '"taskStatus = :pending AND {in_time} ',
            ),
            "return a task without recording that its lease expired (DynamoDB)": (
                "token: Some(lease.token),\n                lease_expired: true,",
                "token: Some(lease.token),\n                lease_expired: false,",
            ),
            "quarantine a task without comparing its ttl (DynamoDB)": (
                'Ttl::Seconds(at) => ("#ttl >= :seen AND #ttl < :above", Some(at.0)),',
                'Ttl::Seconds(at) => ("(#ttl >= :seen OR #ttl < :above)", Some(at.0)),',
            ),
            "quarantine a newer state for an older one (DynamoDB)": (
                "AND taskCreated >= :created AND taskCreated < :later ",
                "AND (taskCreated >= :created OR taskCreated < :later) ",
            ),
        },
        # Also noticed on DynamoDB Local, which rejects the query itself:
        # tools/dynamodb-local/run.sh .venv/bin/python -m tests.guards … "unprojected".
        f"{_CORE}/store/dynamodb/index.rs": {
            "query the index for an unprojected attribute (DynamoDB)": (
                '"taskId, taskCreated, #ttl, notBefore, leaseToken, attempts"',
                '"taskId, taskCreated, #ttl, notBefore, leaseToken, attempts, crashes"',
            ),
        },
        f"{_CORE}/store/dynamodb/operator.rs": {
            "read an item without strong consistency (DynamoDB)": (
                ".consistent_read(true)",
                ".consistent_read(false)",
            ),
        },
        f"{_CORE}/process/filter.rs": {
            "offer expired tasks to the selection": (
                "if task.ttl.is_expired(self.now) {",
                "if task.ttl.is_expired(Millis(0)) {",
            ),
        },
        f"{_CORE}/store/dynamodb/reclaim.rs": {
            "end a lease that has not expired (DynamoDB)": (
                'AND leaseUntil <= :now \\\n                 AND attribute_not_exists(overtaken) AND {condition}"',
                'AND leaseUntil <> :now \\\n                 AND attribute_not_exists(overtaken) AND {condition}"',
            ),
        },
        f"{_CORE}/store/memory/record.rs": {
            "fail a task whose last lease was not alone": (
                "Reclaim::Fail { .. } => self.alone && !self.overtaken,",
                "Reclaim::Fail { .. } => !self.overtaken,",
            ),
        },
        f"{_CORE}/process/turn/empty.rs": {
            "release without the counter": (
                "Some(self.seen)",
                "None",
            ),
            "release without the wait for the index": (
                "let lingered = since.plus(self.processor.settings.index_lag);",
                "let lingered = since;",
            ),
            "release before the write of what was learned about groups": (
                "if let Err(error) = self.save_groups().await {",
                "if let (true, Err(error)) = (self.seen == u64::MAX, self.save_groups().await) {",
            ),
        },
        f"{_CORE}/store/dynamodb/control.rs": {
            "release without the counter (DynamoDB)": (
                '" AND requested = :seen"',
                '" AND (requested = :seen OR attribute_exists(requested))"',
            ),
        },
        f"{_CORE}/process/finish.rs": {
            "tail call before the release": (
                "        self.release_lease(release, unsaved, summary).await?;\n        if summary.idle_turns",
                """        let early = Notification {
            reason: WakeReason::TailCall,
            event: release.owner.to_string(),
            trace: None,
        };
        self.notifier.tail_call(&early).await?;
        summary.tail_call = true;
        self.release_lease(release, unsaved, summary).await?;
        if summary.tail_call {
            summary.exit = Exit::TimeUp;
            return Ok(());
        }
        if summary.idle_turns""",
            ),
        },
        f"{_CORE}/process.rs": {
            "owner = message id": (
                "let owner = Uuid::new_v4();",
                """let owner = Uuid::from_u128({
            let mut hasher = std::hash::DefaultHasher::new();
            std::hash::Hash::hash(&invocation.message_id, &mut hasher);
            std::hash::Hasher::finish(&hasher).into()
        });""",
            ),
        },
        f"{_CORE}/process/attempt/verdict.rs": {
            "count busy as an attempt": (
                "true => returned(at, Counts::Start, reason, Why::Busy),",
                "true => returned(at, Counts::Attempt, reason, Why::Busy),",
            ),
            "retry without backoff when the downstream asks for it": (
                "asked.min(MAX_RETRY_AFTER).max(jitter)",
                "asked.min(MAX_RETRY_AFTER)",
            ),
            "count an attempt that the downstream cannot answer": (
                "        returned(not_before, Counts::Start, reason, why)",
                "        returned(not_before, Counts::Attempt, reason, why)",
            ),
        },
        f"{_CORE}/process/turn/gate.rs": {
            "start tasks although settlements pile up": (
                "let is_behind = settling > usize::from(self.processor.settings.slots);",
                "let is_behind = settling > usize::MAX - usize::from(self.processor.settings.slots);",
            ),
            "continue after the processor lease was lost": (
                "LeaseState::Others => return Gate::End(TurnEnd::LeaseLost),",
                "LeaseState::Others => {}",
            ),
            "end a turn beside a long run": (
                "let goes_on = now < self.last_start && self.runs.has_old(now);",
                "let goes_on = now < self.stop_taking && self.runs.has_old(now);",
            ),
        },
        f"{_CORE}/wake.rs": {
            "publish although the request failed": (
                "let control = self.store.request().await?;",
                "let control = self.store.request().await.unwrap_or_default();",
            ),
        },
        f"{_CORE}/store/dynamodb/operator.rs": {
            "cancel or purge another state than the one that was listed": (
                "condition += term;",
                "let _ = term;",
            ),
            "redrive without widening the bound of the index read": (
                "self.widen_bound(created, redrive.expires_at, now).await?;",
                "let _unbound = created;",
            ),
            "redrive a newer state whose age is not recorded": (
                "taskStatus = :failure AND taskCreated = :created{term}",
                "taskStatus = :failure AND (taskCreated = :created OR attribute_exists(taskCreated)){term}",
            ),
            "purge a running task": (
                "let of = [\n            TaskStatus::Pending,",
                "let of = [\n            TaskStatus::Taken,\n            TaskStatus::Pending,",
            ),
        },
        f"{_CORE}/process/slots.rs": {
            "start a task taken ahead without a free slot": (
                "is_first && !state.closed && may_start(state.runs.len());",
                "is_first && !state.closed;",
            ),
            "let a task taken ahead wait for more than 100 ms": (
                "const LONGEST_WAIT: Duration = MAX_PAGE_AGE;",
                "const LONGEST_WAIT: Duration = Duration::from_secs(10);",
            ),
            "take further tasks ahead after one found no slot": (
                "state.failed |= !started;",
                "state.failed |= false;",
            ),
            "let a task start before one that was taken earlier": (
                "starts = place.is_none() || is_first && ",
                "starts = place.is_none() || (is_first || true) && ",
            ),
            "start waiting tasks although the turn ends": (
                "while !self.try_start(&may_start) && !self.slots.state.borrow().closed {",
                "while !self.try_start(&may_start) {",
            ),
        },
        f"{_CORE}/process/rate.rs": {
            "refill the rate limit at every turn": (
                "let full_at = full_at.map_or(now, since_epoch).clamp(now, empty);",
                "let full_at = full_at.map_or(now, |_| now).clamp(now, empty);",
            ),
        },
        f"{_CORE}/process/attempt/steps.rs": {
            "abandon a settlement after its first throttled requests": (
                "let mut waits = patience().without_max_times().build();",
                "let mut waits = patience().with_max_times(0).build();\n"
                "        if waits.next().is_none() {\n            return Err(last);\n        }",
            ),
            "retry a settlement beyond the end of the turn": (
                "tokio::time::sleep(self.settings.deadline_margin / 2).await;",
                "tokio::time::sleep(self.settings.deadline_margin * 60).await;",
            ),
        },
        f"{_CORE}/process/attempt.rs": {
            "start a task on a lease that is too short for it": (
                "lease.until.since(self.clock.now()) < needed",
                "lease.until.since(self.clock.now()) > lease.until.since(Millis(0)) + needed",
            ),
            "return a task without recording that its lease expired": (
                "back.lease_expired = suspect;",
                "back.lease_expired = suspect && false;",
            ),
        },
        f"{_CORE}/store/dynamodb.rs": {
            "use the second try's time for a take that the first try made (DynamoDB)": (
                "lease.until = item::lease_until(&item).unwrap_or(lease.until);",
                "lease.until = item::lease_until(&item).map_or(lease.until, |_| lease.until);",
            ),
            "return no task whose item has no space for its lastError": (
                "if error.is_validation() && matches!(reason, LastError::Is(_)) => {",
                "if error.is_transient() && matches!(reason, LastError::Is(_)) => {",
            ),
        },
        f"{_CORE}/sweep.rs": {
            "end the sweep at the first task that it cannot change": (
                "while report.transient_errors < MAX_TRANSIENT_ERRORS",
                "while report.errors == 0",
            ),
        },
        f"{_CORE}/process/turn/end.rs": {
            "forget an open circuit breaker at a release": (
                "..self.downstream.lock().carried()",
                "..Carried::default()",
            ),
        },
        f"{_CORE}/process/turn/probe.rs": {
            "keep the pages read before a probe": (
                "new head.\n        self.selector.restart();",
                "new head.",
            ),
        },
        f"{_CORE}/store/dynamodb/groups.rs": {
            "write what a former processor learned (DynamoDB)": (
                'Some(_) => "learnedBy = :seen",',
                'Some(_) => "(learnedBy = :seen OR attribute_exists(learnedBy))",',
            ),
            "overwrite another operator's override (DynamoDB)": (
                '.condition_expression("changes = :changes")',
                '.condition_expression("changes = :changes OR attribute_exists(changes)")',
            ),
        },
        f"{_CORE}/process/groups.rs": {
            "probe with the newest task of a group each time": (
                "let is_probed = gates.is_probed(name);",
                "let is_probed = gates.is_probed(name) && name.is_empty();",
            ),
        },
        f"{_CORE}/sweep/pending.rs": {
            "wake a processor for tasks of closed groups": (
                "task.not_before.max(closed).is_none_or(|at| at <= now)",
                "task.not_before.max(closed.filter(|at| *at == Millis::MAX)).is_none_or(|at| at <= now)",
            ),
        },
    }
)
