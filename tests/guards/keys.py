"""The guards of keys, and how each is broken."""

from __future__ import annotations

from tests.guards.guard import Change, Guard

_CORE = "crates/lifo-queue/src"
_DYNAMODB = f"{_CORE}/store/dynamodb/keyed.rs"
_MEMORY = f"{_CORE}/store/memory/keyed.rs"


def _guard(name: str, file: str, find: str, replace: str) -> Guard:
    return Guard(name, (Change(file, find, replace),))


KEY_GUARDS: tuple[Guard, ...] = (
    _guard(
        "put an older state over a newer one (DynamoDB)",
        _DYNAMODB,
        '"#version < :version AND begins_with(#version, :kind)"',
        '"(#version < :version OR begins_with(#version, :kind))"',
    ),
    _guard(
        "put an older state over a newer one (memory)",
        _MEMORY,
        "if *version > keyed.version {",
        "if *version > keyed.version && self.status == TaskStatus::Taken {",
    ),
    _guard(
        "settle over a newer state (DynamoDB)",
        f"{_CORE}/store/dynamodb/update.rs",
        '"#status = :taken AND #token = :token AND attribute_not_exists(#overtaken)",',
        '"#status = :taken AND #token = :token AND NOT contains(#overtaken, :token)",',
    ),
    _guard(
        "settle over a newer state (memory)",
        f"{_CORE}/store/memory/record.rs",
        "if std::mem::take(&mut self.overtaken) {",
        "if std::mem::take(&mut self.overtaken) && self.version.is_none() {",
    ),
    _guard(
        "take with the token of a lease that was ended (DynamoDB)",
        f"{_CORE}/store/dynamodb/update.rs",
        "AND NOT begins_with(#token, :token)",
        "AND NOT begins_with(#updated, :token)",
    ),
    _guard(
        "take with the token of a lease that was ended (memory)",
        f"{_CORE}/store/memory.rs",
        "|| record.lease_token == Some(lease.token) {",
        "|| record.lease_token == Some(lease.token) && record.version.is_none() {",
    ),
    _guard(
        "let a newer state fail with the lease of the older one",
        f"{_CORE}/store/memory.rs",
        "record.alone && !record.overtaken,",
        "record.alone,",
    ),
    _guard(
        "wake for no newer state",
        "lambdas/trigger/src/event.rs",
        "&& text(new, TASK_VERSION) != text(old, TASK_VERSION)",
        "&& text(new, TASK_VERSION) == text(old, TASK_VERSION)",
    ),
    _guard(
        "write the oldest state of a batch",
        f"{_CORE}/ingest/keys.rs",
        "chain.sort_by_cached_key(|state| std::cmp::Reverse(version(state)));",
        "chain.sort_by_cached_key(version);",
    ),
    _guard(
        "let a newer state of a killer run beside others",
        f"{_CORE}/process/settings.rs",
        "(task.attempts >= spared || task.attempts == 0)",
        "task.attempts >= spared",
    ),
    _guard(
        "one idempotency key for all states of a key",
        f"{_CORE}/task.rs",
        'Some(version) => format!("{}:{version}", self.task_id),',
        "Some(_) => self.task_id.to_string(),",
    ),
    _guard(
        "count no expired state that was replaced",
        "lambdas/count-shed/src/event.rs",
        "is_deleted_by_ttl(record) || replaces_expired(record)",
        "is_deleted_by_ttl(record) || (replaces_expired(record) && is_deleted_by_ttl(record))",
    ),
)
