//! `freshq status`: shows the state of a queue.

use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use lifo_queue::control::ProcessorLease;
use lifo_queue::observed::LimitSettings;
use lifo_queue::operate::{self, Keys, Suspect};
use lifo_queue::time::Millis;

use super::cause::{self, Summary};
use super::{VerbOnQueue, limit, pause};
use crate::account::Account;
use crate::confirm::Prompt;
use crate::failure::Result;
use crate::overrides::Unusual;
use crate::queue::Queue;
use crate::report::{Report, two_columns};
use crate::sample::{self, Tasks};
use crate::time_format::{FIRST_MILLIS, exact, moment, rate, relative, rough, tenths};

/// Shows pending, running and failed tasks, the processor, a pause, a limit and the circuit breaker.
///
/// "ended" counts tasks that succeeded or failed in the last minute, and "run time" has the median of
/// the last 50 runs and the longest of two minutes; processors report both every few seconds.
/// "suspects" are tasks that may have crashed their process. "overloaded" is measured only with the setting processing.codel; without
/// it, created and ended tasks are compared.
/// "last response" is the last without success; tasks may have succeeded since. "superseded states"
/// were replaced by newer tasks with their key before they ran. A notification suppresses others for 10 s.
/// An idle turn is a run of the processor that settled no task. A busy or slow downstream lowers the
/// limit on concurrency.
#[derive(Debug, Args)]
pub(crate) struct Status {}

#[async_trait]
impl VerbOnQueue for Status {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let (status, account) = tokio::join!(queue.operator.status(), queue.caller.account());
        let status = status?;
        let report = StatusReport {
            queue: queue.name.clone(),
            account: account.clone(),
            tasks: Tasks::read(queue, &status).await?,
            groups: Unusual::of(&queue.store.groups().await?, status.now),
            status,
        };
        Ok(Report::done(report.text(), report.json()))
    }
}

/// Maximum number of suspects to name.
const SUSPECTS: usize = 5;

/// The state of a queue.
#[derive(Debug)]
pub(crate) struct StatusReport {
    pub(crate) queue: String,
    pub(crate) account: Account,
    pub(crate) tasks: Tasks,
    pub(crate) groups: Unusual,
    pub(crate) status: operate::Status,
}

impl StatusReport {
    fn paused(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        pause::stands(control, *now)
            .filter(|_| control.is_paused(*now))
            .unwrap_or_else(|| "no".to_owned())
    }

    fn limited(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        limit::stands(control, *now).unwrap_or_else(|| "none".to_owned())
    }

    pub(crate) fn cause(&self) -> Option<Summary> {
        cause::summary(&self.status, &self.tasks)
    }

    fn summary(&self) -> String {
        let none = || "nothing stops or limits the tasks".to_owned();
        self.cause().map_or_else(none, |it| it.to_string())
    }

    fn pending(&self) -> String {
        let operate::Status { pending, now, .. } = &self.status;
        let recent = &self.tasks.recent;
        let later = recent
            .iter()
            .filter(|task| sample::not_before(task) > Some(*now));
        match later.count() {
            0 => pending.to_string(),
            later => format!(
                "{pending}; {later} of the newest {} may start later",
                recent.len()
            ),
        }
    }

    fn processor(&self) -> String {
        match &self.status.control.lease {
            None => self.lease(),
            Some(lease) => format!("{} ({})", self.lease(), lease.owner),
        }
    }

    /// Describes the processor lease without its owner.
    pub(crate) fn lease(&self) -> String {
        let now = self.status.now;
        match &self.status.control.lease {
            None => "none".to_owned(),
            Some(lease) => format!("{} {}", holder(lease, now), moment(lease.until, now)),
        }
    }

    fn oldest(&self) -> String {
        match self.status.oldest_pending {
            None => "-".to_owned(),
            Some(created) if created < FIRST_MILLIS => format!(
                "created {}; its taskCreated is in seconds instead of milliseconds",
                exact(created)
            ),
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
            _ => format!("{superseded} by newer ones of {tasks} pending keys{beyond}"),
        }
    }

    fn notification(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        match control.notified_until.filter(|until| until > now) {
            None => "none".to_owned(),
            Some(until) => format!("suppresses others until {}", moment(until, *now)),
        }
    }

    fn ended(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        let (succeeded, failed) = control.observed.ended.per_second(*now);
        let (succeeded, failed) = (rate(succeeded), rate(failed));
        format!("{succeeded}/s succeeded, {failed}/s failed in the last minute")
    }

    fn run_time(&self) -> String {
        match self.status.control.observed.median_run_ms {
            None => "not measured yet".to_owned(),
            Some(ms) => {
                let median = tenths(Duration::from_millis(ms));
                format!(
                    "median {median}{} of the last runs",
                    longest_run(&self.status)
                )
            }
        }
    }

    fn taken(&self) -> String {
        let limits = self.status.control.observed.limits.map(start_limits);
        let old = cause::OldRuns::of(&self.status, &self.tasks).map(|old| old.to_string());
        let parts = [Some(self.status.taken.to_string()), limits, old];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn suspects(&self) -> String {
        let suspects = &self.status.suspects;
        let named = suspects.iter().take(SUSPECTS);
        let named = named.map(|suspect| {
            let Suspect {
                task,
                status,
                attempts,
            } = suspect;
            format!("{task} ({status}, attempts {attempts})")
        });
        let named = named.collect::<Vec<_>>().join(", ");
        match suspects.len() {
            0 => "none".to_owned(),
            count if count > SUSPECTS => format!("{count}, the newest: {named}"),
            _ => named,
        }
    }

    fn last_response(&self) -> String {
        match &self.status.control.observed.last_response {
            None => "none without success".to_owned(),
            Some(last) => format!(
                "{}, the last without success, to task {}: {}",
                relative(last.at, self.status.now),
                last.task,
                last.text
            ),
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

    /// Returns the name and value of each fact.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let operate::Status {
            now,
            control,
            failed,
            ..
        } = &self.status;
        let groups = self.groups.text().map(|text| ("groups", text));
        let first = [
            ("queue", self.queue.clone()),
            ("account", self.account.id().to_owned()),
            ("region", self.account.region.clone()),
            ("as of", exact(*now)),
            ("summary", self.summary()),
            ("paused", self.paused()),
            ("operator's limit", self.limited()),
        ];
        let rest = [
            ("processor", self.processor()),
            ("PENDING", self.pending()),
            ("oldest PENDING", self.oldest()),
            ("TAKEN", self.taken()),
            ("FAILURE", failed.to_string()),
            ("created", self.tasks.created.text()),
            ("ended", self.ended()),
            ("run time", self.run_time()),
            ("last response", self.last_response()),
            ("suspects", self.suspects()),
            ("superseded states", self.superseded()),
            ("wake-ups requested", control.requested.to_string()),
            ("last notification", self.notification()),
            ("idle turns in a row", control.idle_turns.to_string()),
            ("limit on concurrency", self.slots()),
            ("circuit breaker", self.breaker()),
            ("overloaded", self.overload()),
            ("burst allowance", self.rate()),
            ("redriven tasks", self.redriven()),
        ];
        first.into_iter().chain(groups).chain(rest).collect()
    }

    fn text(&self) -> String {
        two_columns(self.rows())
    }
}

/// Formats the longest of the last runs as text; empty if no processor reported it.
pub(crate) fn longest_run(status: &operate::Status) -> String {
    let longest = status.control.observed.longest_run;
    longest.map_or_else(String::new, |run| {
        format!(", longest {}", tenths(Duration::from_millis(run.ms)))
    })
}

/// Formats the settings that limit the starts as text.
pub(crate) fn start_limits(limits: LimitSettings) -> String {
    let rate = limits.rate_per_second();
    let rate = rate.map_or_else(String::new, |rate| format!(", ratePerSecond {rate}"));
    format!("concurrency {}{rate}", limits.concurrency)
}

fn holder(lease: &ProcessorLease, now: Millis) -> &'static str {
    match lease.until > now {
        true => "active, its lease until",
        false => "probably crashed, its lease expired",
    }
}

mod as_json;
mod limits;
#[cfg(test)]
mod tests;
