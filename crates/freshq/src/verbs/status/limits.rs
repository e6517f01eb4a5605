//! What limits the starts of a queue's tasks: the circuit breaker, the limit on concurrency, overload and the rate.

use lifo_queue::control::Cause;
use lifo_queue::operate;

use super::StatusReport;
use crate::time_format::{moment, relative};
use crate::verbs::breaker;

impl StatusReport {
    /// Describes how many slots start tasks, and why not all.
    pub(super) fn slots(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        let health = &control.health;
        let why = health.cause.map(Cause::text);
        if control.is_breaker_open(*now) {
            let next = health.next_probe.filter(|at| at > now);
            let asked = health.asked_until.is_some_and(|at| Some(at) >= next);
            let asked = match asked && next.is_some() {
                true => " and asked for this wait",
                false => "",
            };
            let next = next.map(|at| format!(", the next {}", relative(at, *now)));
            let why = why.map(|why| format!("; {why}{asked}"));
            return format!(
                "only probes start{}{}",
                next.unwrap_or_default(),
                why.unwrap_or_default()
            );
        }
        match (control.observed.limits, health.limit) {
            (None, _) => "unknown".to_owned(),
            (Some(limits), None) => format!("all {} slots", limits.concurrency),
            (Some(limits), Some(limit)) => {
                let why = health.failed_limit.map_or_else(
                    || "slow runs lowered it".to_owned(),
                    |failed| format!("the downstream was busy at {failed}"),
                );
                format!("{limit} of {} slots; {why}", limits.concurrency)
            }
        }
    }

    pub(super) fn breaker(&self) -> String {
        let operate::Status { control, now, .. } = &self.status;
        let open = control.breaker.map(|open| {
            let since = moment(open.since, *now);
            format!("open since {since}; failed probes: {}", open.probes)
        });
        let parts = [open, breaker::held(control, *now)];
        match parts.into_iter().flatten().collect::<Vec<_>>() {
            parts if parts.is_empty() => "closed".to_owned(),
            parts => parts.join("; "),
        }
    }

    pub(super) fn overload(&self) -> String {
        match self.status.control.overloaded_since {
            None if self.tasks.created.surplus(&self.status).is_some() => {
                "probably: tasks are created faster than they finish".to_owned()
            }
            None if !self.status.control.observed.measures_overload => {
                "not measured without processing.codel".to_owned()
            }
            None => "no".to_owned(),
            Some(since) => {
                let since = moment(since, self.status.now);
                format!("since {since}; only new tasks start")
            }
        }
    }

    pub(super) fn rate(&self) -> String {
        let now = self.status.now;
        match self.status.control.rate_full_at {
            None => "no rate limit was applied yet".to_owned(),
            Some(at) if at <= now => "full".to_owned(),
            Some(at) => format!("full again at {} if no task starts before", moment(at, now)),
        }
    }
}
