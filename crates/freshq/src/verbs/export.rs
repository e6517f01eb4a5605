//! `freshq export`: prints tasks as JSON lines.

use std::io::{self, BufWriter, Write};
use std::pin::pin;

use async_trait::async_trait;
use clap::Args;
use futures::TryStreamExt;
use serde_json::{Value, json};

use super::list::{Filter, StatusName, read_cost};
use super::{VerbOnQueue, matches};
use crate::confirm::Prompt;
use crate::failure::{Failure, Result};
use crate::queue::Queue;
use crate::report::Report;

/// Prints tasks as JSON lines with all attributes, newest first. Reads every task of the status,
/// one read unit per 4 KB; expired tasks are omitted.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The status; several are exported one after the other
    #[arg(long, value_enum, default_values_t = [StatusName::Any])]
    pub(crate) status: Vec<StatusName>,
    #[command(flatten)]
    pub(crate) filter: Filter,
}

#[async_trait]
impl VerbOnQueue for Export {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let (mut tasks, mut read, mut pages) = (0, 0, 0);
        let mut output = BufWriter::new(io::stdout());
        for status in self.status.iter().flat_map(|name| name.statuses()) {
            let find = self.filter.checked(status, queue.clock.now())?;
            let mut batches = pin!(matches::batches(queue, find));
            while let Some(found) = batches.try_next().await? {
                pages += found.pages;
                read += found.items;
                tasks += found.tasks.len();
                for task in found.tasks {
                    let line = Value::Object(task.attributes);
                    writeln!(output, "{line}").map_err(Failure::Terminal)?;
                }
            }
        }
        output.flush().map_err(Failure::Terminal)?;
        let text = format!("tasks exported: {tasks}; {}", read_cost(read, pages));
        let json = json!({ "exported": tasks, "read": { "tasks": read, "pages": pages } });
        Ok(Report {
            is_note: true,
            ..Report::done(text, json)
        })
    }
}
