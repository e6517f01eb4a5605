//! The limit on concurrent tasks. It adapts to a busy or slow downstream by additive increase and
//! multiplicative decrease (Chiu and Jain, 1989).

use std::time::Duration;

use crate::time::Millis;

/// Backoff after the first burst of busy responses, before jitter. Doubles with each consecutive
/// burst.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Maximum wait before the next start while the downstream is busy.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Number of consecutive bursts of busy responses after which the queue should pause.
const PROBES_TO_PAUSE: u32 = 8;

/// Minimum and maximum of the factor by which a slow run lowers the limit. The factor is the target
/// latency divided by the run's duration.
const AFTER_SLOW_RUN: (f64, f64) = (0.5, 0.9);

/// Time after a decrease within which busy responses belong to the same burst. A burst counts once,
/// because its runs started before the decrease.
const ONE_BURST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Slots {
    max: f64,
    limit: f64,
    busy_in_a_row: u32,
    decreased: Option<Millis>,
    /// Time at which a slow run last lowered the limit.
    slowed: Option<Millis>,
    wait_until: Option<Millis>,
    /// Latest of the times until which the downstream requested no calls, since its last result.
    retry_after: Option<Millis>,
}

impl Slots {
    /// Starts with all `max` slots, but at least one.
    pub(super) fn new(max: u16) -> Self {
        let max = f64::from(max.max(1));
        Self {
            max,
            limit: max,
            busy_in_a_row: 0,
            decreased: None,
            slowed: None,
            wait_until: None,
            retry_after: None,
        }
    }

    /// Starts with one slot, after an automatic pause.
    pub(super) fn probing(max: u16) -> Self {
        Self {
            limit: 1.0,
            ..Self::new(max)
        }
    }

    /// Changes the maximum. Slots that were closed because of a busy or slow downstream stay closed.
    pub(super) fn change_max(&mut self, max: u16) {
        let all_open = self.limit >= self.max;
        self.max = f64::from(max.max(1));
        if all_open || self.limit > self.max {
            self.limit = self.max;
        }
    }

    /// Whether the turn should stop waiting for a busy downstream: after about ten seconds
    /// ([`PROBES_TO_PAUSE`] bursts), or if the requested wait exceeds [`LONGEST_WAIT`].
    pub(super) fn is_congested(&self, now: Millis) -> bool {
        self.busy_in_a_row >= PROBES_TO_PAUSE
            || self
                .retry_after
                .is_some_and(|at| at.since(now) > LONGEST_WAIT)
    }

    /// Time until which the downstream requested no calls; `None` if it specified no time.
    pub(super) fn retry_after(&self) -> Option<Millis> {
        self.retry_after
    }

    /// End of the wait that the downstream requested, no later than [`LONGEST_WAIT`] after its
    /// response; `None` if no wait was requested or the wait is over.
    pub(super) fn asked_until(&self, now: Millis) -> Option<Millis> {
        self.retry_after
            .min(self.wait_until)
            .filter(|until| *until > now)
    }

    /// Whether earlier busy or slow runs no longer have any effect.
    pub(super) fn is_at_rest(&self) -> bool {
        self.limit >= self.max && self.busy_in_a_row == 0 && self.retry_after.is_none()
    }

    /// Whether another task may start in addition to `running` others.
    pub(super) fn is_open(&self, running: usize, now: Millis) -> bool {
        running < self.limit() && self.wait_until.is_none_or(|until| until <= now)
    }

    /// The limit on concurrent tasks: from 1 to `max`.
    pub(super) fn limit(&self) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "1 to 65,535"
        )]
        let limit = self.limit as usize;
        limit.max(1)
    }

    /// Time before which no task starts after a busy response.
    pub(super) fn wait_until(&self) -> Option<Millis> {
        self.wait_until
    }

    /// Records a result within the target latency. Each round of results adds one slot.
    pub(super) fn succeeded(&mut self) {
        self.busy_in_a_row = 0;
        self.retry_after = None;
        self.limit = (self.limit + 1.0 / self.limit).min(self.max);
    }

    /// Records a result that took longer than the target latency, which lowers the limit. `share`
    /// is the target latency divided by the run's duration. A run that started before the last
    /// decrease does not count, because it says nothing about the time since then.
    pub(super) fn slow(&mut self, started: Millis, share: f64, now: Millis) {
        self.busy_in_a_row = 0;
        self.retry_after = None;
        if self
            .slowed
            .max(self.decreased)
            .is_none_or(|at| started >= at)
        {
            let (least, most) = AFTER_SLOW_RUN;
            self.limit = (self.limit * share.clamp(least, most)).max(1.0);
            self.slowed = Some(now);
        }
    }

    /// Records a busy response. Halves the limit once per burst and starts a wait. `jitter` is a
    /// random number from 0 to 1.
    pub(super) fn busy(&mut self, retry_after: Option<Duration>, jitter: f64, now: Millis) {
        let same_burst = self.decreased.is_some_and(|at| now.since(at) < ONE_BURST);
        if !same_burst {
            self.limit = (self.limit / 2.0).max(1.0);
            self.decreased = Some(now);
            self.busy_in_a_row = self.busy_in_a_row.saturating_add(1);
        }
        let doubled = FIRST_WAIT * 2_u32.pow(self.busy_in_a_row.saturating_sub(1).min(10));
        // The requested wait may be zero or already over, so the backoff is the minimum wait.
        let wait = doubled
            .mul_f64(0.5 + jitter / 2.0)
            .max(retry_after.unwrap_or_default());
        self.retry_after = self.retry_after.max(retry_after.map(|wait| now.plus(wait)));
        let until = now.plus(wait.min(LONGEST_WAIT));
        self.wait_until = Some(self.wait_until.map_or(until, |there| there.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_halves_the_limit_once_per_burst_and_success_raises_it_by_one() {
        let mut slots = Slots::new(10);
        assert_eq!(slots.limit(), 10);
        for _ in 0..7 {
            slots.busy(None, 0.0, Millis(1_000));
        }
        assert_eq!(slots.limit(), 5);
        slots.busy(None, 0.0, Millis(1_100));
        assert_eq!(slots.limit(), 2);
        for _ in 0..3 {
            slots.succeeded();
        }
        assert_eq!(slots.limit(), 3);
        for _ in 0..1_000 {
            slots.succeeded();
        }
        assert_eq!(slots.limit(), 10);
    }

    #[test]
    fn raised_maximum_does_not_reopen_slots_closed_by_busy_responses() {
        let mut slots = Slots::new(10);
        slots.change_max(3);
        assert_eq!(slots.limit(), 3);
        slots.change_max(10);
        assert_eq!(slots.limit(), 10);
        slots.busy(None, 0.0, Millis(1_000));
        slots.change_max(7);
        assert_eq!(slots.limit(), 5);
        slots.change_max(2);
        slots.busy(None, 0.0, Millis(2_000));
        slots.change_max(10);
        assert_eq!(slots.limit(), 1);
    }

    #[test]
    fn slow_runs_lower_the_limit_once_per_round() {
        let mut slots = Slots::new(10);
        for _ in 0..10 {
            slots.slow(Millis(0), 0.99, Millis(500));
        }
        assert_eq!(slots.limit(), 9);
        slots.slow(Millis(499), 0.1, Millis(900));
        assert_eq!(slots.limit(), 9);
        slots.slow(Millis(500), 0.1, Millis(1_000));
        assert_eq!(slots.limit(), 4);
        let mut now = Millis(1_000);
        for _ in 0..100 {
            slots.slow(now, 0.8, now.plus(Duration::from_millis(1)));
            now = now.plus(Duration::from_millis(1));
        }
        assert_eq!(slots.limit(), 1);
    }

    #[test]
    fn busy_downstream_is_probed_with_growing_backoff() {
        let mut slots = Slots::new(1);
        let mut now = Millis(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            slots.busy(None, 1.0, now);
            let until = slots.wait_until().unwrap();
            assert!(!slots.is_open(0, until.minus(Duration::from_millis(1))));
            assert!(slots.is_open(0, until));
            waits.push(until.since(now).as_millis());
            now = until;
        }
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        slots.succeeded();
        slots.busy(Some(Duration::from_secs(2)), 1.0, now);
        assert_eq!(slots.wait_until(), Some(now.plus(Duration::from_secs(2))));
    }

    #[test]
    fn retry_after_of_zero_does_not_disable_the_backoff() {
        let mut slots = Slots::new(1);
        let mut now = Millis(0);
        let mut waits = Vec::new();
        for _ in 0..4 {
            slots.busy(Some(Duration::ZERO), 1.0, now);
            let until = slots.wait_until().unwrap();
            waits.push(until.since(now).as_millis());
            now = until;
        }
        assert_eq!(waits, [100, 200, 400, 800]);
    }

    #[test]
    fn retry_after_above_the_longest_wait_counts_as_congested() {
        let congested = |wait| {
            let mut slots = Slots::new(10);
            slots.busy(Some(wait), 1.0, Millis(0));
            slots.is_congested(Millis(0))
        };
        assert!(!congested(LONGEST_WAIT));
        assert!(congested(LONGEST_WAIT + Duration::from_millis(1)));
    }
}
