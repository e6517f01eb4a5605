"""The guards of keys, and the changes that break them."""

from __future__ import annotations

from tests.guards.guard import guards_of

_CORE = "crates/lifo-queue/src"

KEY_GUARDS = guards_of(
    {
        f"{_CORE}/store/dynamodb/keyed.rs": {
            "put an older state over a newer one (DynamoDB)": (
                '"taskVersion < :version AND begins_with(taskVersion, :kind)"',
                '"(taskVersion < :version OR begins_with(taskVersion, :kind))"',
            ),
        },
        f"{_CORE}/store/dynamodb/update.rs": {
            "settle over a newer state (DynamoDB)": (
                '"taskStatus = :taken AND leaseToken = :token AND attribute_not_exists(overtaken)",',
                '"taskStatus = :taken AND leaseToken = :token AND NOT contains(overtaken, :token)",',
            ),
            "take with the token of an ended lease (DynamoDB)": (
                "AND NOT begins_with(leaseToken, :token)",
                "AND NOT begins_with(taskUpdated, :token)",
            ),
            "return a key that crashed too often (DynamoDB)": (
                '"NOT (attribute_exists(alone) AND crashes >= :crashes)"',
                '"NOT (attribute_exists(overtakes) AND crashes >= :crashes)"',
            ),
        },
        f"{_CORE}/store/memory/record.rs": {
            "let a newer state fail with the lease of the older one": (
                "self.alone && !self.overtaken,",
                "self.alone,",
            ),
        },
        "lambdas/trigger/src/event.rs": {
            "send no wake-up for a newer state": (
                "&& text(new, TASK_VERSION) != text(old, TASK_VERSION)",
                "&& text(new, TASK_VERSION) == text(old, TASK_VERSION)",
            ),
        },
        f"{_CORE}/create/chains.rs": {
            "write the oldest state of a batch": (
                "Reverse(task.keyed.as_ref().map(|keyed| keyed.version.clone()))",
                "Reverse(Reverse(task.keyed.as_ref().map(|keyed| keyed.version.clone())))",
            ),
        },
        f"{_CORE}/process/settings.rs": {
            "run a newer state of a suspect task with others": (
                "(task.attempts >= spared || task.attempts == 0)",
                "task.attempts >= spared",
            ),
        },
        f"{_CORE}/task.rs": {
            "use one idempotency key for all states of a key": (
                'Some(version) => format!("{}:{version}", self.task_id),',
                "Some(_) => self.task_id.to_string(),",
            ),
        },
        "lambdas/count-shed/src/event.rs": {
            "leave a replaced expired state uncounted": (
                "is_deleted_by_ttl(record) || replaces_expired(record)",
                "is_deleted_by_ttl(record) || (replaces_expired(record) && is_deleted_by_ttl(record))",
            ),
        },
    }
)
