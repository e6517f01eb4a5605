//! Publishes the downstream's capacity, for ingest admission.

use super::Turn;
use crate::process::capacity::Measured;
use crate::process::health::Limits;
use crate::time::Millis;

/// Maximum starts per second; `None` if unlimited.
fn rate(limits: &Limits) -> Option<f64> {
    let limit = limits.rate?;
    Some(limit.interval.as_secs_f64().recip())
}

impl Turn<'_> {
    /// Records whether a slot is free because no task is ready to start, and publishes the capacity
    /// at the end of each interval.
    pub(super) fn measure(&mut self, is_free: bool, now: Millis) {
        let settings = &self.processor.settings;
        if !settings.publish_capacity {
            return;
        }
        self.free_time.note(is_free, now);
        let Some(was_free) = self.free_time.ended(settings.heartbeat, now) else {
            return;
        };
        let measured = {
            let mut downstream = self.downstream.lock();
            let health = downstream.queue();
            match (health.open_breaker(), was_free) {
                (Some(_), _) => Measured::Open,
                (None, true) => Measured::Spare,
                (None, false) => Measured::Full {
                    concurrency: health.concurrency(),
                    rate: rate(&self.limits),
                },
            }
        };
        self.observations.measured(measured, now);
    }
}
