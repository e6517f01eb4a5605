//! The last start of a task before it expires.

use std::time::Duration;

use super::Ledger;
use crate::store::Candidate;
use crate::task::Ttl;
use crate::time::Millis;

/// Maximum delay before a returned task whose run did not count starts again, excluding pauses.
pub(super) const NEXT_START: Duration = Duration::from_secs(120);

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

impl Ledger {
    /// Maximum time until a task that is returned now starts again. It includes a pause if the
    /// breaker has been open for so long that a pause may follow.
    pub(super) fn next_start(&self, now: Millis) -> Duration {
        let pause_after = self.settings.breaker.map(|breaker| breaker.pause_after);
        let open_for = self.breaker.open_for(now);
        match open_for.zip(pause_after) {
            Some((open_for, pause_after)) if open_for + NEXT_START >= pause_after => {
                NEXT_START + self.settings.pause
            }
            _ => NEXT_START,
        }
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
