//! Schedules with keys.

use std::time::Duration;

use fastrand::Rng;
use lifo_queue::store::Order;
use serde_json::json;

use super::{Burst, Schedule};

impl Schedule {
    /// Adds keys to a third of the schedules. There are only a few keys, so that states supersede
    /// each other. Sometimes an older state arrives late.
    pub(super) fn with_keys(mut self, rng: &mut Rng) -> Self {
        if rng.u32(0..3) > 0 {
            return self;
        }
        if rng.bool() {
            self.settings.process.order = Order::OldestFirst;
        }
        let (keys, by_sequence) = (rng.u32(1..=4), rng.bool());
        let mut sequence = 10;
        for burst in self.load.iter_mut().filter(|burst| burst.foreign.is_none()) {
            for spec in &mut burst.specs {
                if let Some(spec) = spec.as_object_mut() {
                    spec.remove("taskId");
                }
                spec["key"] = json!(format!("k{}", rng.u32(0..keys)));
                sequence += 1;
                if by_sequence {
                    let late = rng.u64(0..4) * u64::from(rng.u32(0..3) == 0);
                    spec["sequence"] = json!(sequence - late);
                }
            }
        }
        // Splits the bursts, so that states of one key also arrive one after the other.
        let mut apart = Vec::with_capacity(self.load.len());
        for burst in self.load {
            if burst.foreign.is_some() {
                apart.push(burst);
                continue;
            }
            let mut after = burst.after;
            for specs in burst.specs.chunks(3) {
                apart.push(Burst {
                    after: std::mem::replace(&mut after, Duration::from_millis(rng.u64(0..4_000))),
                    specs: specs.to_vec(),
                    foreign: None,
                });
            }
        }
        self.load = apart;
        self
    }
}
