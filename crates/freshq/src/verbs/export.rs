//! `freshq export`: prints tasks as JSON lines.

use std::io::{self, BufWriter, Write};

use async_trait::async_trait;
use clap::Args;
use lifo_queue::operate::Find;
use serde_json::{Value, json};

use super::VerbOnQueue;
use super::list::{Filter, StatusName, read_cost};
use crate::confirm::Prompt;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Tasks that are read before their lines are written.
const BATCH: usize = 1_000;

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
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report, Failure> {
        let (mut tasks, mut read, mut pages) = (0, 0, 0);
        let mut output = BufWriter::new(io::stdout());
        for status in self.status.iter().flat_map(|name| name.statuses()) {
            let now = queue.clock.now();
            let mut find = Find {
                limit: BATCH,
                max_items: BATCH,
                ..self.filter.checked(status, now)?
            };
            loop {
                let found = queue.operator.find(&find).await?;
                pages += found.pages;
                read += found.items;
                tasks += found.tasks.len();
                for task in found.tasks {
                    let line = Value::Object(task.attributes);
                    writeln!(output, "{line}").map_err(Failure::Terminal)?;
                }
                find.after = found.next;
                if find.after.is_none() {
                    break;
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
