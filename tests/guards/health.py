"""Guards of the health of the downstream."""

from __future__ import annotations

from tests.guards.guard import guards_of

_CORE = "crates/lifo-queue/src"


HEALTH_GUARDS = guards_of(
    {
        f"{_CORE}/process/health/breaker.rs": {
            "never open the circuit breaker": (
                "self.without_result >= RUNS_TO_OPEN {",
                "self.without_result >= 1_000 * RUNS_TO_OPEN {",
            ),
            "probe with the newest task only": (
                "let any = open.probes.is_multiple_of(2) || open.probes >= PROBES_OF_NEWEST;",
                "let any = open.probes == u32::MAX;",
            ),
            "probe before the wait that a busy downstream asked for": (
                "let asked = self.asked_until.filter(|_| !ignores);",
                "let asked = self.asked_until.filter(|at| !ignores && at.0 == 0);",
            ),
            "keep the circuit breaker open after a result": (
                "        self.tried.clear();\n        self.open = None;",
                "        self.tried.clear();",
            ),
            "close a circuit breaker that an operator holds open": (
                "self.close();\n        if self.is_held(now) {\n            self.open_at(now, false);",
                "self.close();\n        if self.is_held(now) {",
            ),
        },
        f"{_CORE}/process/health.rs": {
            "charge a run without a result in an outage": (
                "self.newest_result.is_some_and(|result| result > since)",
                "self.newest_result.is_none_or(|result| result > since)",
            ),
            "charge no run without a result": (
                "self.newest_result.is_some_and(|result| result > since)",
                "self.newest_result.is_some_and(|result| result.0 > since.0 * 2)",
            ),
            "charge a probe that ends after the outage": (
                "self.probes.remove(task) || self.breaker.is_held(now)",
                "!self.probes.remove(task) && self.breaker.is_held(now)",
            ),
        },
        f"{_CORE}/process/health/breaker/hand.rs": {
            "ignore an operator that closes the circuit breaker": (
                "self.know(control, now);\n        if !self.is_held(now) {",
                "self.know(control, now);\n        if !self.is_held(now) && self.hand.commands == u64::MAX {",
            ),
        },
        f"{_CORE}/process/health/groups.rs": {
            "start groups with full burst allowances after a crash": (
                "false => Some(now),",
                "false => states.learned.empty_at,",
            ),
            "start limited groups after a crash without a count": (
                "false => Some(now.plus(lag)),",
                "false => (lag.is_zero()).then(|| now.plus(lag)),",
            ),
            "forget that the turn before did not count the tasks of a crashed processor": (
                "true => uncounted,",
                "true => uncounted.filter(|at| *at == Millis::MAX),",
            ),
            "forget a lease that the turn could not end": (
                "if !is_known {",
                "if !is_known && until == Millis::MAX {",
            ),
        },
        f"{_CORE}/process/health/groups/unsaved.rs": {
            "leave a breaker of a group out of what the turn learned": (
                "learned.breaker = health.open_breaker();",
                "learned.breaker = health.open_breaker().filter(|open| open.probes == u32::MAX);",
            ),
        },
    }
)
