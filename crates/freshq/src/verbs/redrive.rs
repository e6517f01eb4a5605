//! `freshq redrive`: runs failed tasks again.

use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use lifo_queue::depth;
use lifo_queue::operate::{OperateError, RedriveReport};
use lifo_queue::store::Redriven;
use lifo_queue::task::{TaskId, TaskStatus};
use serde_json::{Value, json};

use super::task_outcomes::{Outcome, TaskOutcomes};
use super::{VerbOnQueue, task_id, wake};
use crate::confirm::Prompt;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::{Exit, Report};
use crate::time_format;

/// Runs failed tasks again: attempts from 0, a new deadline, their old place in age.
#[derive(Debug, Args)]
pub(crate) struct Redrive {
    /// The tasks to run again
    #[arg(
        required_unless_present = "all",
        conflicts_with = "all",
        value_name = "TASK_ID",
        value_parser = task_id
    )]
    pub(crate) tasks: Vec<TaskId>,
    /// Every task that is FAILURE
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not ask before --all
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) yes: bool,
    /// How far ahead the new deadline is
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = time_format::parse_duration)]
    pub(crate) ttl: Duration,
}

#[async_trait(?Send)]
impl VerbOnQueue for Redrive {
    async fn run(
        &self,
        queue: &Queue,
        prompt: &mut dyn Prompt,
    ) -> Result<Box<dyn Report>, Failure> {
        match self.all {
            true => self.redrive_all(queue, prompt).await,
            false => Ok(Box::new(self.redrive_each(queue).await)),
        }
    }
}

impl Redrive {
    async fn redrive_each(&self, queue: &Queue) -> TaskOutcomes {
        let mut report = TaskOutcomes::new("redriven");
        for task in &self.tasks {
            let outcome = match report.has_failed() {
                true => Outcome::NotTried,
                false => match queue.operator.redrive(task, self.ttl).await {
                    Ok(Redriven::Done) => Outcome::Done,
                    Ok(Redriven::Is(status)) => Outcome::Is(status),
                    Ok(Redriven::NotFound) => Outcome::NotFound,
                    Err(OperateError::Wake(error)) => {
                        Outcome::NotWoken(Failure::from(error).line())
                    }
                    Err(OperateError::Store(error)) => Outcome::unknown(error),
                },
            };
            report.note(task, outcome);
        }
        report
    }

    async fn redrive_all(
        &self,
        queue: &Queue,
        prompt: &mut dyn Prompt,
    ) -> Result<Box<dyn Report>, Failure> {
        if !self.yes {
            let now = queue.clock.now();
            let failed = depth::measure(&*queue.store, TaskStatus::Failure, None, now).await?;
            if failed.count == 0 && failed.exact {
                return Ok(Box::new(All(RedriveReport::default())));
            }
            let question = format!(
                "Run {failed} failed tasks of {} again, with a new deadline {} ahead?",
                queue.name,
                time_format::rough(self.ttl),
            );
            if !prompt.confirms(&question)? {
                return Ok(Box::new(Declined));
            }
        }
        let report = queue.operator.redrive_all(self.ttl).await?;
        Ok(Box::new(All(report)))
    }
}

/// The outcomes of all failed tasks.
#[derive(Debug)]
struct All(RedriveReport);

impl Report for All {
    fn exit(&self) -> Exit {
        match self.0.lost {
            0 => Exit::Done,
            _ => Exit::NotAll,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("redriven: {}", self.0.redriven);
        if self.0.lost > 0 {
            text += &format!("; in another state meanwhile, or gone: {}", self.0.lost);
        }
        if let Some(wake) = self.0.wake {
            text += &format!("; {}", wake::text(wake));
        }
        text
    }

    fn json(&self) -> Value {
        let RedriveReport {
            redriven,
            lost,
            wake,
        } = self.0;
        json!({ "redriven": redriven, "lost": lost, "wake": wake.map(wake::name) })
    }
}

/// Asked, and answered no.
#[derive(Debug)]
struct Declined;

impl Report for Declined {
    fn exit(&self) -> Exit {
        Exit::NotAll
    }

    fn text(&self) -> String {
        "nothing was redriven".to_owned()
    }

    fn json(&self) -> Value {
        json!({ "redriven": 0, "declined": true })
    }
}
