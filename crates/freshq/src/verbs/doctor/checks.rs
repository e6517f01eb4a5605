//! Runs the checks of a queue's state. A failed read omits only the checks that need it.

use lifo_queue::operate::{Find, FoundTask, Status};
use lifo_queue::process::TAKEN_PER_SLOT;
use lifo_queue::task::TaskStatus;

use super::{Checkup, flow, groups, state, times};
use crate::deployed::Stack;
use crate::failure::Result;
use crate::queue::Queue;
use crate::sample::Tasks;
use crate::verbs::cause;

/// Minimum number of running tasks to read if more tasks are TAKEN than the concurrency allows.
const TAKEN_READ: usize = 100;

/// Checks the state of the queue, and the numbers of tasks created and ended in the last minute.
/// `stack` is `None` for a queue without a known stack.
pub(super) async fn check(queue: &Queue, stack: Option<&Stack>, checkup: &mut Checkup) {
    let (operator, now) = (&queue.operator, queue.clock.now());
    let control = checkup.read("the control item", queue.store.control().await);
    let status = match &control {
        Some(control) => checkup.read(
            "the numbers of tasks",
            operator.measure(control.clone()).await,
        ),
        None => None,
    };
    if let Some(control) = &control {
        let secret = stack.and_then(Stack::secret);
        let pending = status.as_ref().map(|status| status.pending.count);
        checkup.note(state::control(control, pending, now, secret.as_deref()));
    }
    let groups = checkup.read("the groups", queue.store.groups().await);
    let groups = groups.map(|states| groups::check(&states, now));
    // Limits of groups are already a finding and explain a growing backlog.
    let is_limited = groups.as_ref().is_some_and(|(_, found)| !found.is_empty());
    checkup.note(groups.unwrap_or_default());
    if let Some(status) = &status {
        let times = times::check(queue, status).await;
        let times = checkup.read("the creation times of the pending tasks", times);
        checkup.note(times.unwrap_or_default());
    }
    // Report a likely cause before the growing backlog that it explains.
    if let Some(control) = &control {
        checkup.note_read(Some(flow::failing(control, now)));
        let suspects = operator.suspects(control, now).await;
        let suspects = checkup.read("the tasks of crashed processes", suspects);
        checkup.note_read(suspects.map(|suspects| flow::crashed(&suspects)));
    }
    let keys = checkup.read("the keys", operator.keys().await);
    checkup.note_read(keys.map(flow::keys));
    if let Some(status) = &status {
        tasks(queue, stack, status, is_limited, checkup).await;
    }
    checkup.name_places(stack);
}

/// Checks the backlog, and the number of running tasks against the concurrency of the stack.
async fn tasks(
    queue: &Queue,
    stack: Option<&Stack>,
    status: &Status,
    is_limited: bool,
    checkup: &mut Checkup,
) {
    let tasks = Tasks::read(queue, status).await;
    let tasks = checkup.read("the newest tasks", tasks);
    checkup.note_read(tasks.as_ref().map(|tasks| {
        let surplus = flow::surplus(status, tasks);
        surplus.filter(|_| !is_limited)
    }));
    checkup.late = tasks.and_then(|tasks| cause::notice(status.now, &tasks));
    if let Some(limit) = stack.and_then(Stack::concurrency) {
        let taken = taken(queue, status, limit).await;
        let taken = checkup.read("the running tasks", taken);
        checkup.note_read(taken.map(|taken| flow::taken(&taken, limit, status.now)));
    }
}

/// Reads the items of the running tasks if the index shows too many, because the index lags behind.
async fn taken(queue: &Queue, status: &Status, concurrency: usize) -> Result<Vec<FoundTask>> {
    if status.taken.count as usize <= concurrency {
        return Ok(Vec::new());
    }
    let find = Find::newest(
        TaskStatus::Taken,
        TAKEN_READ.max(2 * TAKEN_PER_SLOT * concurrency),
    );
    Ok(queue.operator.find(&find).await?.tasks)
}
