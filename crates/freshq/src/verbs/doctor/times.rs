//! Finds pending tasks whose creation time is in seconds or in the future.

use std::time::Duration;

use lifo_queue::operate::{Find, FoundTask, Status};
use lifo_queue::store::Cursor;
use lifo_queue::task::TaskStatus;
use lifo_queue::time::Millis;

use super::Finding;
use crate::failure::Result;
use crate::queue::Queue;
use crate::time_format::{FIRST_MILLIS, relative};

/// Maximum tolerated time by which a writer's clock is ahead.
const SKEW: Duration = Duration::from_secs(60);

/// Text that tells an operator how to find the writer.
const FIND: &str = "shows its payload, which identifies the writer; fix it to write the current time in milliseconds";

/// Checks the newest pending task, and the newest one whose creation time is in seconds.
pub(super) async fn check(queue: &Queue, status: &Status) -> Result<(usize, Vec<Finding>)> {
    let newest = Find::newest(TaskStatus::Pending, 1);
    let mut findings = Vec::new();
    if status.oldest_pending.is_some_and(|at| at < FIRST_MILLIS) {
        let find = Find {
            after: Some(Cursor::older_than(FIRST_MILLIS)),
            ..newest.clone()
        };
        let found = queue.operator.find(&find).await?.tasks;
        findings.extend(found.first().map(in_seconds));
    }
    let found = queue.operator.find(&newest).await?.tasks;
    let ahead = found
        .first()
        .filter(|task| task.created > status.now.plus(SKEW));
    findings.extend(ahead.map(|task| in_the_future(task, status.now)));
    Ok((2, findings))
}

fn in_seconds(task: &FoundTask) -> Finding {
    Finding {
        place: "the pending tasks".to_owned(),
        what: format!("taskCreated of task {} is in seconds: {}", task.id, task.created.0),
        why: "the queue reads it as a time in 1970: such tasks start after all others, and alarm oldest-pending fires".to_owned(),
        remedy: format!("freshq show {} {FIND}; freshq cancel --older-than 366d --dry-run names all such tasks", task.id),
    }
}

fn in_the_future(task: &FoundTask, now: Millis) -> Finding {
    Finding {
        place: "the pending tasks".to_owned(),
        what: format!(
            "taskCreated of task {} is in the future: {}, {}",
            task.id,
            task.created.0,
            relative(task.created, now)
        ),
        why: "until then it starts before all newer tasks".to_owned(),
        remedy: format!(
            "freshq show {} {FIND}; freshq list shows such tasks first",
            task.id
        ),
    }
}
