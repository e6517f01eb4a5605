//! Reads all tasks that match a search, and creates the report for a dry run.

use std::pin::pin;

use futures::{Stream, TryStreamExt, stream};
use lifo_queue::operate::{Find, Found};
use lifo_queue::store::Seen;
use lifo_queue::task::TaskId;
use serde_json::json;

use super::list::read_cost;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Number of tasks per batch.
const BATCH: usize = 1_000;

/// Maximum number of ids to print.
const SHOWN: usize = 20;

/// The matching tasks, and how much was read.
#[derive(Debug, Default)]
pub(super) struct Matches {
    /// Each task with its state.
    pub(super) tasks: Vec<(TaskId, Seen)>,
    read: usize,
    pages: u32,
}

impl Matches {
    /// Reads every task that matches `find`, regardless of its limits.
    ///
    /// # Errors
    /// [`Failure`]: the table could not be read.
    pub(super) async fn read(queue: &Queue, find: Find) -> Result<Self, Failure> {
        let mut matches = Self::default();
        let mut batches = pin!(batches(queue, find));
        while let Some(found) = batches.try_next().await? {
            matches.pages += found.pages;
            matches.read += found.items;
            let tasks = found.tasks.into_iter().map(|task| {
                let state = task.state();
                (task.id, state)
            });
            matches.tasks.extend(tasks);
        }
        Ok(matches)
    }
}

/// Yields every task that matches `find` in batches, regardless of the limits of `find`.
pub(super) fn batches(queue: &Queue, find: Find) -> impl Stream<Item = Result<Found, Failure>> {
    let first = Find {
        limit: BATCH,
        max_items: BATCH,
        ..find
    };
    stream::try_unfold(Some(first), async |next| {
        let Some(find) = next else { return Ok(None) };
        let found = queue.operator.find(&find).await?;
        let after = found.next.clone();
        let next = after.is_some().then_some(Find { after, ..find });
        Ok(Some((found, next)))
    })
}

impl Matches {
    /// Creates the report for a dry run of this verb.
    pub(super) fn report(&self, verb: &str) -> Report {
        let Self { tasks, read, pages } = self;
        let tasks: Vec<_> = tasks.iter().map(|(task, _)| task).collect();
        let ids = tasks.iter().take(SHOWN).map(|task| format!("\n{task}"));
        let more = match tasks.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        let text = format!(
            "tasks to {verb}: {}; {}{}{more}",
            tasks.len(),
            read_cost(*read, *pages),
            ids.collect::<String>()
        );
        let name = match verb {
            "redrive" => "wouldRedrive",
            _ => "wouldCancel",
        };
        let json = json!({ name: tasks, "read": { "tasks": read, "pages": pages } });
        Report::done(text, json)
    }
}
