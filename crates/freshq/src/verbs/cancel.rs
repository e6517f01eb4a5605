//! `freshq cancel`: deletes pending tasks.

use async_trait::async_trait;
use clap::Args;
use lifo_queue::store::Cancelled;
use lifo_queue::task::TaskId;

use super::task_outcomes::{Outcome, TaskOutcomes};
use super::{VerbOnQueue, task_id};
use crate::confirm::Prompt;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Deletes pending tasks. Running and settled tasks are unchanged.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The pending tasks to delete
    #[arg(required = true, value_name = "TASK_ID", value_parser = task_id)]
    pub(crate) tasks: Vec<TaskId>,
}

#[async_trait]
impl VerbOnQueue for Cancel {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        let mut report = TaskOutcomes::new("cancelled");
        for task in &self.tasks {
            let outcome = match report.has_failed() {
                true => Outcome::NotTried,
                false => match queue.operator.cancel(task).await {
                    Ok(Cancelled::Done) => Outcome::Done,
                    Ok(Cancelled::Is(status)) => Outcome::Is(status),
                    Ok(Cancelled::NotFound) => Outcome::NotFound,
                    Err(error) => Outcome::unknown(error),
                },
            };
            report.note(task, outcome);
        }
        Ok(Box::new(report))
    }
}
