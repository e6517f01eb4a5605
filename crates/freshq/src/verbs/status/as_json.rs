//! Formats the status as JSON.

use lifo_queue::control::{Cause, Control};
use lifo_queue::time::Millis;
use serde_json::{Value, json};

use super::StatusReport;
use crate::time_format::exact;
use crate::verbs::limit;

impl StatusReport {
    pub(super) fn json(&self) -> Value {
        let status = &self.status;
        let (control, now) = (&status.control, status.now);
        let paused = control.paused_until.filter(|_| control.is_paused(now));
        json!({
            "queue": self.queue,
            "account": self.account.id,
            "region": self.account.region,
            "now": exact(now),
            "summary": self.cause().map(|it| it.text),
            "paused": paused.map(|until| json!({
                "until": exact(until),
                "remainingMs": until.since(now).as_millis(),
                "reason": control.pause_reason,
                "by": control.paused_by.as_ref().map(|author| &author.name),
                "since": control.paused_by.as_ref().map(|author| exact(author.at)),
            })),
            "limit": limit::as_json(control, now),
            "groups": self.groups.json(),
            "processor": control.lease.as_ref().map(|lease| json!({
                "active": lease.until > now,
                "leaseUntil": exact(lease.until),
                "owner": lease.owner,
                "messageId": lease.message_id,
            })),
            "pending": status.pending,
            "nextStart": self.tasks.next_start.map(exact),
            "oldestPending": status.oldest_pending.map(|created| json!({
                "created": exact(created),
                "ageMs": now.since(created).as_millis(),
            })),
            "taken": status.taken,
            "failed": status.failed,
            "lastMinute": {
                "created": self.tasks.created.count,
                "createdIsExact": !self.tasks.created.more,
                "succeeded": control.observed.ended.within(now).0,
                "failed": control.observed.ended.within(now).1,
            },
            "medianRunMs": control.observed.median_run_ms,
            "longestRunMs": control.observed.longest_run.map(|run| run.ms),
            "limitSettings": control.observed.limits.map(|limits| json!({
                "concurrency": limits.concurrency,
                "ratePerSecond": limits.rate_per_second(),
            })),
            "lastResponse": control.observed.last_response.as_ref().map(|last| json!({
                "at": exact(last.at), "taskId": last.task, "text": last.text,
            })),
            "suspects": status.suspects.iter().map(|there| json!({
                "taskId": there.task, "status": there.status, "attempts": there.attempts,
            })).collect::<Vec<_>>(),
            "superseded": {
                "states": status.keys.superseded,
                "pendingKeys": status.keys.tasks,
                "exact": status.keys.exact,
            },
            "wakeUpsRequested": control.requested,
            "notifiedUntil": control.notified_until.map(exact),
            "idleTurns": control.idle_turns,
            "health": {
                "limit": control.health.limit,
                "cause": control.health.cause.map(Cause::text),
                "nextProbe": control.health.next_probe.map(exact),
            },
            "breaker": breaker_json(control, now),
            "measuresOverload": control.observed.measures_overload,
            "overloadedSince": control.overloaded_since.map(exact),
            "rateFullAt": control.rate_full_at.map(exact),
            "redriven": control.redriven.map(|redriven| json!({
                "oldestCreated": exact(redriven.oldest),
                "lastDeadline": exact(redriven.until.millis()),
            })),
        })
    }
}

/// Formats the circuit breaker as JSON if it is open.
fn breaker_json(control: &Control, now: Millis) -> Option<Value> {
    let held = control.held_breaker(now);
    control.is_breaker_open(now).then(|| {
        json!({
            "since": control.breaker.map(|open| exact(open.since)),
            "failedProbes": control.breaker.map(|open| open.probes),
            "heldUntil": held.map(|hold| exact(hold.until)),
            "reason": held.map(|hold| &hold.reason),
        })
    })
}
