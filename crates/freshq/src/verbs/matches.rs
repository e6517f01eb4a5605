//! The tasks that match a search, read to the end. A dry run prints them.

use lifo_queue::operate::Find;
use lifo_queue::task::TaskId;
use serde_json::json;

use super::list::read_cost;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Tasks that are read in one batch.
const BATCH: usize = 1_000;

/// Maximum number of ids that are printed.
const SHOWN: usize = 20;

/// The tasks, and how much was read.
#[derive(Debug, Default)]
pub(super) struct Matches {
    pub(super) tasks: Vec<TaskId>,
    read: usize,
    pages: u32,
}

impl Matches {
    /// Reads every task that matches `find`, whatever its limits.
    ///
    /// # Errors
    /// [`Failure`]: the table could not be read.
    pub(super) async fn read(queue: &Queue, find: Find) -> Result<Self, Failure> {
        let mut find = Find {
            limit: BATCH,
            max_items: BATCH,
            ..find
        };
        let mut matches = Self::default();
        loop {
            let found = queue.operator.find(&find).await?;
            matches.pages += found.pages;
            matches.read += found.items;
            let ids = found.tasks.into_iter().map(|task| task.id);
            matches.tasks.extend(ids);
            find.after = found.next;
            if find.after.is_none() {
                return Ok(matches);
            }
        }
    }
}

impl Matches {
    /// The report of a dry run of this verb.
    pub(super) fn report(&self, verb: &str) -> Report {
        let Self { tasks, read, pages } = self;
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
