//! The last start of a task before it expires.

use std::time::Duration;

use super::{Health, LONGEST_PROBE};
use crate::store::Candidate;
use crate::task::Ttl;
use crate::time::Millis;

/// Number of intervals between probes within which a returned task starts again.
const PROBES: u32 = 30;

/// Whether a start now may be a task's last start before it expires, if the next start follows
/// within `next_start`. A short-lived task keeps most of its lifetime, because the outage may end.
pub(in crate::process) fn is_last_start(
    created: Millis,
    expires: Millis,
    next_start: Duration,
    now: Millis,
) -> bool {
    let lifetime = expires.since(created);
    expires <= now.plus(next_start.min(lifetime / 4))
}

impl Health {
    /// Maximum time until a task that is returned now starts again: two minutes, and more in a long
    /// outage.
    pub(super) fn next_start(&self, now: Millis) -> Duration {
        PROBES * self.breaker.interval(now).max(LONGEST_PROBE)
    }

    /// Index of the task to use as the probe: among the returned tasks that may expire before their
    /// next start, the one that expires first.
    pub(super) fn ending(&self, due: &[&Candidate], now: Millis) -> Option<usize> {
        let next_start = self.next_start(now);
        let ending = due.iter().enumerate().filter_map(|(place, task)| {
            task.not_before?;
            let expires = match task.ttl {
                Ttl::Seconds(at) => at.millis(),
                Ttl::Milliseconds(at) => at,
                Ttl::Missing | Ttl::Malformed => return None,
            };
            let is_last = is_last_start(task.created, expires, next_start, now);
            is_last.then_some((expires, place))
        });
        ending.min().map(|(_, place)| place)
    }
}
