//! The tasks that match a search, read to the end. A dry run prints them.

use lifo_queue::operate::Find;
use lifo_queue::task::TaskId;
use serde_json::{Value, json};

use super::list::read_cost;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Tasks that are read in one batch.
const BATCH: usize = 1_000;

/// Maximum number of ids that are printed.
const SHOWN: usize = 20;

/// The tasks that match a search, and how much was read.
#[derive(Debug)]
pub(super) struct Matches {
    /// The verb of the dry run.
    verb: &'static str,
    pub(super) tasks: Vec<TaskId>,
    read: usize,
    pages: u32,
}

impl Matches {
    /// Reads every task that matches `find`, whatever its limits.
    ///
    /// # Errors
    /// [`Failure`]: the table could not be read.
    pub(super) async fn read(
        queue: &Queue,
        find: Find,
        verb: &'static str,
    ) -> Result<Self, Failure> {
        let mut find = Find {
            limit: BATCH,
            max_items: BATCH,
            ..find
        };
        let mut matches = Self {
            verb,
            tasks: Vec::new(),
            read: 0,
            pages: 0,
        };
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

impl Report for Matches {
    fn exit(&self) -> Exit {
        Exit::Done
    }

    fn text(&self) -> String {
        let Self {
            verb,
            tasks,
            read,
            pages,
        } = self;
        let ids = tasks.iter().take(SHOWN).map(|task| format!("\n{task}"));
        let more = match tasks.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        format!(
            "tasks to {verb}: {}; {}{}{more}",
            tasks.len(),
            read_cost(*read, *pages),
            ids.collect::<String>()
        )
    }

    fn json(&self) -> Value {
        let Self {
            verb,
            tasks,
            read,
            pages,
        } = self;
        let name = match *verb {
            "redrive" => "wouldRedrive",
            _ => "wouldCancel",
        };
        json!({ name: tasks, "read": { "tasks": read, "pages": pages } })
    }
}
