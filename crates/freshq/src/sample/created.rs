//! Counts the tasks that were created in the last minute.

use std::time::Duration;

use lifo_queue::operate::Status;
use lifo_queue::store::Order;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;

use super::{RECENT, WINDOW, page};
use crate::failure::Result;
use crate::queue::Queue;
use crate::time_format::rate;

/// Tasks that were created within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Created {
    pub(crate) count: u32,
    /// Number of tasks per current status: PENDING, TAKEN, SUCCESS, FAILURE.
    pub(crate) by_status: [u32; 4],
    /// Whether more tasks were created than were read.
    pub(crate) more: bool,
    /// Number of created tasks that cannot start within the next minute.
    pub(crate) delayed: u32,
    pub(crate) late: Late,
}

/// Tasks that can start only an hour or more after their creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    pub(crate) count: u32,
    /// The shortest time from the creation of a late task to its start.
    pub(crate) delay: Option<Duration>,
}

/// Minimum time between creation and earliest start for a task to count as late.
pub(crate) const LATE: Duration = Duration::from_secs(60 * 60);

/// Minimum number of pending tasks, and minimum surplus of created tasks, for a growing backlog.
const SURPLUS: u32 = 20;

impl Created {
    /// Returns the number of due tasks created minus the number of tasks ended. `None` if the
    /// backlog does not grow, or if a pause or an open circuit breaker stops the queue.
    pub(crate) fn surplus(self, status: &Status) -> Option<u32> {
        let (control, now) = (&status.control, status.now);
        let stops = control.is_paused(now) || control.is_breaker_open(now);
        let (succeeded, failed) = control.observed.ended.within(now);
        let due = self.count.saturating_sub(self.delayed);
        let surplus = due.saturating_sub(succeeded + failed);
        let grows = !stops && status.pending.count >= SURPLUS && surplus >= SURPLUS;
        grows.then_some(surplus)
    }

    pub(crate) fn per_second(self) -> f64 {
        f64::from(self.count) / WINDOW.as_secs_f64()
    }

    /// Formats the rate as text.
    pub(crate) fn text(self) -> String {
        let least = if self.more { "at least " } else { "" };
        format!("{least}{}/s in the last minute", rate(self.per_second()))
    }
}

/// Counts the tasks that were created in the last minute.
pub(super) async fn created(queue: &Queue, now: Millis) -> Result<Created> {
    let mut created = Created::default();
    for (count, status) in created.by_status.iter_mut().zip(TaskStatus::ALL) {
        let from = Some(now.minus(WINDOW));
        let (tasks, rest) = page(queue, status, Order::NewestFirst, from, RECENT, now).await?;
        *count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        created.count += *count;
        created.more |= rest;
        for task in tasks {
            let Some(at) = task.not_before else { continue };
            created.delayed += u32::from(at > now.plus(WINDOW));
            let delay = at.since(task.created);
            if delay >= LATE {
                let shortest = created.late.delay.map_or(delay, |other| other.min(delay));
                created.late.count += 1;
                created.late.delay = Some(shortest);
            }
        }
    }
    Ok(created)
}
