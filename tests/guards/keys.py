"""The guards of keys, and the changes that break them."""

from __future__ import annotations

from tests.guards.guard import Guard, one_change

_CORE = "crates/lifo-queue/src"
_DYNAMODB = f"{_CORE}/store/dynamodb/keyed.rs"


KEY_GUARDS: tuple[Guard, ...] = (
    one_change(
        "put an older state over a newer one (DynamoDB)",
        _DYNAMODB,
        '"taskVersion < :version AND begins_with(taskVersion, :kind)"',
        '"(taskVersion < :version OR begins_with(taskVersion, :kind))"',
    ),
    one_change(
        "settle over a newer state (DynamoDB)",
        f"{_CORE}/store/dynamodb/update.rs",
        '"taskStatus = :taken AND leaseToken = :token AND attribute_not_exists(overtaken)",',
        '"taskStatus = :taken AND leaseToken = :token AND NOT contains(overtaken, :token)",',
    ),
    one_change(
        "take with the token of an ended lease (DynamoDB)",
        f"{_CORE}/store/dynamodb/update.rs",
        "AND NOT begins_with(leaseToken, :token)",
        "AND NOT begins_with(taskUpdated, :token)",
    ),
    one_change(
        "let a newer state fail with the lease of the older one",
        f"{_CORE}/store/memory/record.rs",
        "self.alone && !self.overtaken,",
        "self.alone,",
    ),
    one_change(
        "return a key that crashed too often (DynamoDB)",
        f"{_CORE}/store/dynamodb/update.rs",
        '"NOT (attribute_exists(alone) AND crashes >= :crashes)"',
        '"NOT (attribute_exists(overtakes) AND crashes >= :crashes)"',
    ),
    one_change(
        "send no wake-up for a newer state",
        "lambdas/trigger/src/event.rs",
        "&& text(new, TASK_VERSION) != text(old, TASK_VERSION)",
        "&& text(new, TASK_VERSION) == text(old, TASK_VERSION)",
    ),
    one_change(
        "write the oldest state of a batch",
        f"{_CORE}/create/chains.rs",
        "Reverse(task.keyed.as_ref().map(|keyed| keyed.version.clone()))",
        "Reverse(Reverse(task.keyed.as_ref().map(|keyed| keyed.version.clone())))",
    ),
    one_change(
        "run a newer state of a suspect task beside others",
        f"{_CORE}/process/settings.rs",
        "(task.attempts >= spared || task.attempts == 0)",
        "task.attempts >= spared",
    ),
    one_change(
        "use one idempotency key for all states of a key",
        f"{_CORE}/task.rs",
        'Some(version) => format!("{}:{version}", self.task_id),',
        "Some(_) => self.task_id.to_string(),",
    ),
    one_change(
        "leave a replaced expired state uncounted",
        "lambdas/count-shed/src/event.rs",
        "is_deleted_by_ttl(record) || replaces_expired(record)",
        "is_deleted_by_ttl(record) || (replaces_expired(record) && is_deleted_by_ttl(record))",
    ),
)
