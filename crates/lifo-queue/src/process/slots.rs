//! How many tasks run at once: bounded, and adapted while the downstream is busy or slow by
//! additive increase and multiplicative decrease (Chiu and Jain, 1989).

use std::time::Duration;

use crate::time::Millis;

/// The wait after the first busy answer; it doubles with each further one in a row.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait between two probes of a busy downstream.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Busy bursts in a row after which the queue should pause.
const PROBES_TO_PAUSE: u32 = 8;

/// What a slow run leaves of the slots: as much as the target is of its time, within these bounds.
const AFTER_SLOW_RUN: (f64, f64) = (0.5, 0.9);

/// Answers of one burst count once: those that come this soon after a decrease were sent before
/// it.
const ONE_BURST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Slots {
    max: f64,
    limit: f64,
    busy_in_a_row: u32,
    decreased: Option<Millis>,
    /// When a slow run last took slots away.
    slowed: Option<Millis>,
    wait_until: Option<Millis>,
    /// The latest moment that the downstream itself has named, since it last had room.
    retry_after: Option<Millis>,
}

impl Slots {
    /// Starts with every slot open.
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

    /// Starts with one slot, after a pause: it probes.
    pub(super) fn probing(max: u16) -> Self {
        Self {
            limit: 1.0,
            ..Self::new(max)
        }
    }

    /// Whether the downstream has been busy for so long that waiting for it within the turn is
    /// worth little: some ten seconds of slower and slower probes, or it said so itself.
    pub(super) fn is_congested(&self, now: Millis) -> bool {
        self.busy_in_a_row >= PROBES_TO_PAUSE
            || self
                .retry_after
                .is_some_and(|at| at.since(now) > LONGEST_WAIT)
    }

    /// Until when the downstream wants to be left alone, if it said so.
    pub(super) fn retry_after(&self) -> Option<Millis> {
        self.retry_after
    }

    /// Whether one more task may start beside those that run.
    pub(super) fn is_open(&self, running: usize, now: Millis) -> bool {
        running < self.limit() && self.wait_until.is_none_or(|until| until <= now)
    }

    /// Tasks that may run at once.
    pub(super) fn limit(&self) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "1 to 65,535"
        )]
        let limit = self.limit as usize;
        limit.max(1)
    }

    /// Until when nothing starts.
    pub(super) fn wait_until(&self) -> Option<Millis> {
        self.wait_until
    }

    /// The downstream had room: one slot more for each round of answers.
    pub(super) fn succeeded(&mut self) {
        self.busy_in_a_row = 0;
        self.retry_after = None;
        self.limit = (self.limit + 1.0 / self.limit).min(self.max);
    }

    /// The downstream answered a run too slowly, with the target at this share of the run's time:
    /// fewer slots, but none for a run that started before the last decrease, because it says
    /// nothing of the time since.
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

    /// The downstream had none: half the slots, once for each burst, and a wait.
    /// `jitter` is drawn from 0 to 1.
    pub(super) fn busy(&mut self, retry_after: Option<Duration>, jitter: f64, now: Millis) {
        let same_burst = self.decreased.is_some_and(|at| now.since(at) < ONE_BURST);
        if !same_burst {
            self.limit = (self.limit / 2.0).max(1.0);
            self.decreased = Some(now);
            self.busy_in_a_row = self.busy_in_a_row.saturating_add(1);
        }
        let doubled = FIRST_WAIT * 2_u32.pow(self.busy_in_a_row.saturating_sub(1).min(10));
        // A downstream may ask for no wait at all, or name a moment that has passed.
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
    fn busy_halves_once_a_burst_and_success_grows_one_by_one() {
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
    fn slow_runs_take_slots_away_once_for_each_round() {
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
    fn a_busy_downstream_is_probed_more_and_more_slowly() {
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
    fn a_retry_after_of_zero_does_not_remove_the_backoff() {
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
    fn a_downstream_is_congested_when_it_asks_for_more_than_the_longest_wait() {
        let congested = |wait| {
            let mut slots = Slots::new(10);
            slots.busy(Some(wait), 1.0, Millis(0));
            slots.is_congested(Millis(0))
        };
        assert!(!congested(LONGEST_WAIT));
        assert!(congested(LONGEST_WAIT + Duration::from_millis(1)));
    }
}
