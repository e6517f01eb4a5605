//! Schedules with more tasks that must not start than an index page holds.

use std::time::Duration;

use fastrand::Rng;
use lifo_queue::process::ProcessSettings;
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Order, Seen};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::Millis;
use serde_json::json;
use simulator::cloud::{BEGIN, Cloud, CloudSettings};
use simulator::fault::Rates;

use super::{Burst, MOST, Schedule};

/// Number of entries that must not start. It exceeds the size of an index page.
const ENTRIES: i64 = 1_500;
/// Time for which the delayed entries remain in the index: longer than a schedule.
const STAY: Duration = Duration::from_secs(10 * 3600);
/// Time for which one task per second arrives in a steady schedule.
const STEADY: Duration = Duration::from_secs(900);
/// The task that kills its process in a steady schedule.
pub(super) const KILLER: &str = "killer";

/// The entries that precede all others in queue order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// Schedule with any load and any faults, in which every task ends.
    Mixed,
    /// Schedule with one task per second, no faults and no limit. A task that must run alone ends
    /// during it.
    Steady,
}

impl Schedule {
    /// Adds [`Pages`] to one in thirty schedules. Three in four entries are delayed beyond the
    /// schedule, and the others are expired tasks from a direct writer.
    pub(super) fn with_full_pages(mut self, rng: &mut Rng) -> Self {
        if rng.u32(0..30) > 0 {
            return self;
        }
        // No task in the load expires earlier. Its expiry would hide that it never started.
        for burst in &mut self.load {
            burst.foreign = None;
            for spec in &mut burst.specs {
                spec["ttlSeconds"] = json!(STAY.as_secs());
            }
        }
        self.pages = Some(Pages::Mixed);
        match rng.u32(0..3) {
            0 => return self,
            1 => {
                // The circuit breaker opens, and the tasks for its probes are several pages further down.
                let breaker = &mut self.settings.process.breaker;
                *breaker = breaker.or(CloudSettings::default().process.breaker);
                self.downstream.unavailable = 100;
                return self;
            }
            _ => {}
        }
        self.pages = Some(Pages::Steady);
        self.rates = Rates::none();
        let spec = |id: String| json!({"taskId": id, "ttlSeconds": STAY.as_secs()});
        let burst = |id, after| Burst {
            after,
            specs: vec![spec(id)],
            foreign: None,
        };
        self.load = vec![burst(KILLER.to_owned(), Duration::ZERO)];
        let seconds = 0..STEADY.as_secs();
        let steady = seconds.map(|second| burst(format!("s{second:03}"), Duration::from_secs(1)));
        self.load.extend(steady);
        self.downstream.steady = true;
        let defaults = CloudSettings::default();
        self.settings.process = ProcessSettings {
            max_attempts: 3,
            ..defaults.process
        };
        self.settings.process_tasks = defaults.process_tasks;
        self
    }
}

impl Pages {
    /// Writes the entries to the table.
    pub(super) fn fill(self, cloud: &Cloud, order: Order) {
        let first = match order {
            Order::NewestFirst => BEGIN.plus(STAY),
            Order::OldestFirst => BEGIN.minus(STAY),
        };
        for number in 0..ENTRIES {
            let created = Millis(first.0 + number);
            let entry = match number % 4 {
                0 => Record::pending(created, Ttl::Milliseconds(BEGIN)),
                _ => {
                    let ttl = Ttl::Seconds(BEGIN.floor_seconds().plus(2 * STAY));
                    let mut delayed = Record::pending(created, ttl);
                    delayed.not_before = Some(BEGIN.plus(STAY));
                    delayed
                }
            };
            cloud.put(&id(number), entry);
        }
    }

    /// Waits until the load has ended, then cancels the entries. Returns a broken guarantee, if
    /// any.
    pub(super) async fn clear(self, cloud: &Cloud) -> Option<String> {
        let alone = cloud.task(KILLER).map(|task| task.status);
        let starved = self == Self::Steady && alone != Some(TaskStatus::Failure);
        let end = cloud.now().plus(MOST);
        let is_entry = |id: &TaskId| id.as_str().starts_with("rest");
        let pending = || {
            let mut tasks = cloud.tasks().into_iter();
            tasks.find(|(id, task)| !is_entry(id) && !task.status.is_settled())
        };
        while pending().is_some() && cloud.now() < end {
            cloud.run_for(Duration::from_secs(30)).await;
        }
        let late = pending().map(|(id, _)| format!("{id} does not end behind full pages"));
        let operator = cloud.operator();
        for number in 0..ENTRIES {
            // An expired entry may already be deleted.
            let cancelled = operator.cancel(&id(number), &Seen::Any).await;
            debug_assert!(cancelled.is_ok(), "{cancelled:?}");
        }
        let text = format!("S4: under load {KILLER} does not run alone in time");
        late.or_else(|| starved.then_some(text))
    }
}

fn id(number: i64) -> TaskId {
    TaskId::from_stored(format!("rest{number:04}"))
}
