//! Explains why due tasks wait although no more tasks are created than end.

use std::fmt;
use std::time::Duration;

use lifo_queue::operate::{FoundTask, Status};
use lifo_queue::schema;
use lifo_queue::time::Millis;

use super::{SLOW, by_operator, described};
use crate::overrides::limit_values;
use crate::sample::{self, Tasks, WINDOW};
use crate::time_format::tenths;

/// Minimum wait of a due task before the summary explains it.
const WAITING: Duration = Duration::from_secs(5);

/// Running tasks whose run takes far longer than the median of the last runs. They probably get no
/// response, and each occupies a slot until `taskTimeout`.
pub(crate) struct OldRuns {
    count: usize,
    /// Duration of the youngest of these runs so far.
    age: Duration,
}

impl OldRuns {
    /// The old runs among the newest running tasks; `None` without any.
    pub(crate) fn of(status: &Status, tasks: &Tasks) -> Option<Self> {
        let median = status.control.observed.median_run_ms.unwrap_or_default();
        let old = Duration::from_millis(SLOW.0.max(SLOW.1 * median));
        // The take is the last write of a running task.
        let started = |task: &FoundTask| task.number(schema::TASK_UPDATED).map(Millis);
        let ages = tasks.running.iter().filter_map(started);
        let ages = ages.map(|started| status.now.since(started));
        let ages: Vec<Duration> = ages.filter(|age| *age >= old).collect();
        let age = *ages.iter().min()?;
        let count = ages.len();
        Some(Self { count, age })
    }
}

impl fmt::Display for OldRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.count == 1 { "run" } else { "runs" };
        let age = tenths(self.age);
        write!(f, "{} {runs} without a response for {age}", self.count)
    }
}

/// Describes why due tasks wait; `None` if none has waited for [`WAITING`].
pub(super) fn text(status: &Status, tasks: &Tasks) -> Option<String> {
    let now = status.now;
    let due =
        |task: &FoundTask| sample::not_before(task).map_or(task.created, |at| at.max(task.created));
    let all = tasks.recent.iter().chain(&tasks.oldest);
    let longest = all.map(|task| now.since(due(task))).max();
    let longest = tenths(longest.filter(|wait| *wait >= WAITING)?);
    Some(format!(
        "due tasks wait, up to {longest}: {}",
        reason(status, tasks)
    ))
}

fn reason(status: &Status, tasks: &Tasks) -> String {
    let (control, now) = (&status.control, status.now);
    if control.live_lease(now).is_none() {
        return "no processor is active; the sweep wakes the queue every minute".to_owned();
    }
    if control.overloaded_since.is_some() {
        return "the queue is overloaded, so only new tasks start".to_owned();
    }
    let is_rate_used = control.rate_full_at.is_some_and(|at| at > now);
    if let Some(limit) = by_operator(status, |_| is_rate_used) {
        return format!("an operator limits it to {}", limit_values(limit));
    }
    let observed = &control.observed;
    let slots = observed.limits.map(|limits| limits.concurrency);
    let full = slots.filter(|slots| status.taken.count >= u32::from(*slots));
    if let Some(slots) = full {
        let old = OldRuns::of(status, tasks);
        let old = old.map_or_else(String::new, |old| format!("; {old}"));
        return format!("all {slots} slots are in use{old}");
    }
    let rate = observed.limits.and_then(|limits| limits.rate_per_second());
    match rate.filter(|_| is_rate_used) {
        Some(rate) => format!("ratePerSecond {rate} limits the starts"),
        None => {
            let last = observed.last_response.as_ref();
            let last = last.filter(|last| now.since(last.at) < WINDOW);
            described(last, "a processor is active and starts the newest first")
        }
    }
}
