//! A schedule's downstream.

use std::time::Duration;

use fastrand::Rng;
use lifo_queue::task::Task;
use simulator::cloud::Deed;

use super::{pages, pick};

/// Percentages of tasks by outcome. All other tasks succeed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Downstream {
    pub(super) seed: u64,
    pub(super) fail: u32,
    pub(super) retry: u32,
    pub(super) busy: u32,
    pub(super) panic: u32,
    pub(super) hang: u32,
    pub(super) kill: u32,
    pub(super) reject: u32,
    pub(super) unavailable: u32,
    /// Whether each run takes slightly longer than the time between two tasks, and
    /// [`pages::KILLER`] kills its process.
    pub(super) steady: bool,
    pub(super) longest: Duration,
}

impl Downstream {
    /// A run's duration and deed. They depend only on the seed, the task's id and the attempt.
    pub(super) fn deed(&self, task: &Task) -> (Duration, Deed) {
        if self.steady {
            let kills = task.task_id.as_str() == pages::KILLER;
            let deed = if kills { Deed::Kill } else { Deed::Succeed };
            return (Duration::from_millis(1_500), deed);
        }
        let id = task.task_id.as_str().bytes();
        let hash = id.fold(self.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut rng = Rng::with_seed(hash);
        let longest = u64::try_from(self.longest.as_millis()).unwrap_or(u64::MAX);
        let duration = Duration::from_millis(rng.u64(1..=longest));
        let times = rng.u32(1..4);
        let mut kind = rng.u32(0..100);
        let mut is = |share: u32| {
            let hit = kind < share;
            kind = if hit { u32::MAX } else { kind - share };
            hit
        };
        let early = task.total_attempts <= times;
        let deed = if is(self.fail) {
            Deed::Fail
        } else if is(self.retry) && early {
            Deed::Retry
        } else if is(self.busy) && task.total_attempts <= 2 * times {
            Deed::Busy((times == 1).then_some(Duration::from_secs(3)))
        } else if is(self.panic) && early {
            Deed::Panic
        } else if is(self.hang) && task.total_attempts <= 1 {
            Deed::Hang
        } else if is(self.kill) {
            Deed::Kill
        } else if is(self.reject) && early {
            Deed::Reject
        } else if is(self.unavailable) && task.total_attempts <= 2 * times {
            Deed::Unavailable
        } else {
            Deed::Succeed
        };
        (duration, deed)
    }
}

pub(super) fn downstream(rng: &mut Rng) -> Downstream {
    let mut share = |most: u32| if rng.bool() { rng.u32(0..=most) } else { 0 };
    let mut downstream = Downstream {
        fail: share(10),
        retry: share(20),
        busy: share(30),
        panic: share(10),
        hang: share(5),
        kill: share(6),
        ..Downstream::default()
    };
    if rng.u32(0..8) == 0 {
        downstream.reject = 40;
    }
    downstream.seed = rng.u64(..);
    downstream.longest = Duration::from_millis(*pick(rng, &[5, 500, 5_000, 20_000]));
    downstream
}
