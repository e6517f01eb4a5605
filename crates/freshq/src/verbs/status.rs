//! `freshq status`: shows the state of a queue.

use async_trait::async_trait;
use clap::Args;
use lifo_queue::control::{Control, ProcessorLease};
use lifo_queue::operate::{self, Keys};
use lifo_queue::time::Millis;
use serde_json::{Value, json};

use super::{VerbOnQueue, breaker, pause};
use crate::account::Account;
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::{Report, two_columns};
use crate::time_format::{exact, relative, rough};

/// Shows pending, running and failed tasks, the processor, a pause and the circuit breaker.
#[derive(Debug, Args)]
pub(crate) struct Status {}

#[async_trait]
impl VerbOnQueue for Status {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        let (status, account) = tokio::join!(queue.operator.status(), queue.caller.account());
        Ok(Box::new(StatusReport {
            queue: queue.name.clone(),
            account: account.clone(),
            status: status?,
        }))
    }

    fn changes(&self) -> bool {
        false
    }
}

/// The state of a queue.
#[derive(Debug)]
pub(crate) struct StatusReport {
    pub(crate) queue: String,
    pub(crate) account: Account,
    pub(crate) status: operate::Status,
}

impl StatusReport {
    fn paused(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        pause::stands(control, *now)
            .filter(|_| control.is_paused(*now))
            .unwrap_or_else(|| "no".to_owned())
    }

    fn processor(&self) -> String {
        let now = self.status.now;
        match &self.status.control.lease {
            None => "none".to_owned(),
            Some(lease) => format!(
                "{} {}, {} ({})",
                holder(lease, now),
                exact(lease.until),
                relative(lease.until, now),
                lease.owner,
            ),
        }
    }

    fn oldest(&self) -> String {
        match self.status.oldest_pending {
            None => "-".to_owned(),
            Some(created) => {
                let age = rough(self.status.now.since(created));
                format!("{age}, created {}", exact(created))
            }
        }
    }

    fn superseded(&self) -> String {
        let Keys {
            tasks,
            superseded,
            exact,
        } = self.status.keys;
        let beyond = match exact {
            true => "",
            false => "; only the newest pending tasks were read",
        };
        match tasks {
            0 => format!("no pending keys{beyond}"),
            _ => format!("{superseded} of {tasks} pending keys{beyond}"),
        }
    }

    fn notification(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        match control.notified_until.filter(|until| until > now) {
            None => "none".to_owned(),
            Some(until) => {
                format!(
                    "suppresses others until {}, {}",
                    exact(until),
                    relative(until, *now)
                )
            }
        }
    }

    fn breaker(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        let open = control.breaker.map(|open| {
            format!(
                "open since {}, {}; failed probes: {}",
                exact(open.since),
                relative(open.since, *now),
                open.probes
            )
        });
        let parts = [open, breaker::held(control, *now)];
        match parts.into_iter().flatten().collect::<Vec<_>>() {
            parts if parts.is_empty() => "closed".to_owned(),
            parts => parts.join("; "),
        }
    }

    fn overload(&self) -> String {
        match self.status.control.overloaded_since {
            None => "no".to_owned(),
            Some(since) => format!(
                "since {}, {}; only new tasks start",
                exact(since),
                relative(since, self.status.now)
            ),
        }
    }

    fn rate(&self) -> String {
        let now = self.status.now;
        match self.status.control.rate_full_at {
            None => "no limit was applied yet".to_owned(),
            Some(at) if at <= now => "full".to_owned(),
            Some(at) => format!("full again at {}, {}", exact(at), relative(at, now)),
        }
    }

    fn redriven(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        match control.redriven.filter(|r| r.until.millis() > *now) {
            None => "none pending".to_owned(),
            Some(redriven) => format!(
                "oldest created {}, last expiry {}",
                exact(redriven.oldest),
                exact(redriven.until.millis()),
            ),
        }
    }

    /// The name and the value of each fact.
    pub(crate) fn rows(&self) -> [(&'static str, String); 19] {
        let operate::Status {
            now,
            control,
            pending,
            taken,
            failed,
            ..
        } = &self.status;
        [
            ("queue", self.queue.clone()),
            ("account", self.account.id().to_owned()),
            ("region", self.account.region.clone()),
            ("as of", exact(*now)),
            ("paused", self.paused()),
            ("processor", self.processor()),
            ("PENDING", pending.to_string()),
            ("oldest PENDING", self.oldest()),
            ("TAKEN", taken.to_string()),
            ("FAILURE", failed.to_string()),
            ("superseded states", self.superseded()),
            ("wake-ups requested", control.requested.to_string()),
            ("last notification", self.notification()),
            ("idle turns in a row", control.idle_turns.to_string()),
            ("busy pauses in a row", control.busy_pauses.to_string()),
            ("circuit breaker", self.breaker()),
            ("overloaded", self.overload()),
            ("rate limit's bucket", self.rate()),
            ("redriven tasks", self.redriven()),
        ]
    }
}

fn holder(lease: &ProcessorLease, now: Millis) -> &'static str {
    match lease.until > now {
        true => "active, its lease until",
        false => "probably crashed, its lease expired",
    }
}

impl Report for StatusReport {
    fn exit(&self) -> Exit {
        Exit::Done
    }

    fn text(&self) -> String {
        two_columns(self.rows())
    }

    fn json(&self) -> Value {
        let status = &self.status;
        let (control, now) = (&status.control, status.now);
        let paused = control.paused_until.filter(|_| control.is_paused(now));
        json!({
            "queue": self.queue,
            "account": self.account.id,
            "region": self.account.region,
            "now": exact(now),
            "paused": paused.map(|until| json!({
                "until": exact(until),
                "remainingMs": until.since(now).as_millis(),
                "reason": control.pause_reason,
            })),
            "processor": control.lease.as_ref().map(|lease| json!({
                "active": lease.until > now,
                "leaseUntil": exact(lease.until),
                "owner": lease.owner,
                "messageId": lease.message_id,
            })),
            "pending": status.pending,
            "oldestPending": status.oldest_pending.map(|created| json!({
                "created": exact(created),
                "ageMs": now.since(created).as_millis(),
            })),
            "taken": status.taken,
            "failed": status.failed,
            "superseded": {
                "states": status.keys.superseded,
                "pendingKeys": status.keys.tasks,
                "exact": status.keys.exact,
            },
            "wakeUpsRequested": control.requested,
            "notifiedUntil": control.notified_until.map(exact),
            "idleTurns": control.idle_turns,
            "busyPauses": control.busy_pauses,
            "breaker": breaker_json(control, now),
            "overloadedSince": control.overloaded_since.map(exact),
            "rateFullAt": control.rate_full_at.map(exact),
            "redriven": control.redriven.map(|redriven| json!({
                "oldestCreated": exact(redriven.oldest),
                "lastDeadline": exact(redriven.until.millis()),
            })),
        })
    }
}

/// The circuit breaker, if it is open.
fn breaker_json(control: &Control, now: Millis) -> Option<Value> {
    let held = control.held_breaker(now);
    (control.breaker.is_some() || held.is_some()).then(|| {
        json!({
            "since": control.breaker.map(|open| exact(open.since)),
            "failedProbes": control.breaker.map(|open| open.probes),
            "heldUntil": held.map(|hold| exact(hold.until)),
            "reason": held.map(|hold| &hold.reason),
        })
    })
}

#[cfg(test)]
mod tests;
