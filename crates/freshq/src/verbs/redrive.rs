//! `freshq redrive`: retries failed tasks.

use std::time::Duration;

use async_trait::async_trait;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args};
use lifo_queue::depth;
use lifo_queue::operate::{Find, OperateError, RedriveReport};
use lifo_queue::store::Redriven;
use lifo_queue::task::{TaskId, TaskStatus};
use serde_json::{Value, json};

use super::list::read_cost;
use super::task_outcomes::{Outcome, TaskOutcomes};
use super::{VerbOnQueue, failed_changes, task_id, wake};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format;

/// Tasks that a dry run reads in one batch.
const BATCH: usize = 1_000;

/// Maximum number of ids that a dry run prints.
const SHOWN: usize = 20;

/// Retries failed tasks: attempts from 0, a new expiry, the original age.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["tasks", "all", "error"]))]
pub(crate) struct Redrive {
    /// The tasks to retry
    #[arg(value_name = "TASK_ID", value_parser = task_id)]
    pub(crate) tasks: Vec<TaskId>,
    /// Every task that is FAILURE
    #[arg(long)]
    pub(crate) all: bool,
    /// Every task that is FAILURE and has this text in its last error; reads each failed task
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) error: Option<String>,
    /// Only lists the tasks that --all or --error would redrive
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) dry_run: bool,
    /// Skips the confirmation of --all and --error
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) yes: bool,
    /// The time until the new expiry
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = time_format::parse_duration)]
    pub(crate) ttl: Duration,
}

#[async_trait]
impl VerbOnQueue for Redrive {
    async fn run(
        &self,
        queue: &Queue,
        prompt: &mut dyn Prompt,
    ) -> Result<Box<dyn Report>, Failure> {
        match (self.all || self.error.is_some(), self.dry_run) {
            (false, _) => Ok(Box::new(self.redrive_each(queue).await)),
            (true, true) => Ok(Box::new(self.try_out(queue).await?)),
            (true, false) => self.redrive_all(queue, prompt).await,
        }
    }

    fn changes(&self) -> bool {
        !self.dry_run
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
            let which = match &self.error {
                None => String::new(),
                Some(text) => format!(", but only those with {text:?} in the last error,"),
            };
            let question = format!(
                "Retry {failed} failed tasks of {}{which} with a new expiry in {}?",
                queue.place().await,
                time_format::rough(self.ttl),
            );
            if !prompt.confirms(&question, "--yes")? {
                return Ok(Box::new(Declined));
            }
        }
        let report = match &self.error {
            None => queue.operator.redrive_all(self.ttl).await?,
            Some(text) => queue.operator.redrive_by_error(text, self.ttl).await?,
        };
        Ok(Box::new(All(report)))
    }

    /// Finds the tasks that would be redriven.
    async fn try_out(&self, queue: &Queue) -> Result<DryRun, Failure> {
        let mut find = Find {
            status: TaskStatus::Failure,
            created_from: None,
            after: None,
            error: self.error.clone(),
            limit: BATCH,
            max_items: BATCH,
        };
        let mut run = DryRun::default();
        loop {
            let found = queue.operator.find(&find).await?;
            run.pages += found.pages;
            run.read += found.items;
            run.tasks
                .extend(found.tasks.into_iter().map(|task| task.id));
            find.after = found.next;
            if find.after.is_none() {
                return Ok(run);
            }
        }
    }
}

/// The outcome of a redrive with `--all` or `--error`.
#[derive(Debug)]
struct All(RedriveReport);

impl Report for All {
    fn exit(&self) -> Exit {
        match self.0.lost {
            _ if !self.0.failed.is_empty() => Exit::Failed,
            0 => Exit::Done,
            _ => Exit::NotAll,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("redriven: {}", self.0.redriven);
        if self.0.lost > 0 {
            text += &format!("; changed or deleted meanwhile: {}", self.0.lost);
        }
        if let Some(wake) = self.0.wake {
            text += &format!("; {}", wake::text(wake));
        }
        text + &failed_changes::text(&self.0.failed)
    }

    fn json(&self) -> Value {
        let RedriveReport {
            redriven,
            lost,
            failed,
            wake,
        } = &self.0;
        let failed = failed_changes::json(failed);
        json!({ "redriven": redriven, "lost": lost, "failed": failed, "wake": wake.map(wake::name) })
    }
}

/// The tasks that a redrive would retry, and how much was read.
#[derive(Debug, Default)]
struct DryRun {
    tasks: Vec<TaskId>,
    read: usize,
    pages: u32,
}

impl Report for DryRun {
    fn exit(&self) -> Exit {
        Exit::Done
    }

    fn text(&self) -> String {
        let Self { tasks, read, pages } = self;
        let ids = tasks.iter().take(SHOWN).map(|task| format!("\n{task}"));
        let more = match tasks.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        format!(
            "tasks to redrive: {}; {}{}{more}",
            tasks.len(),
            read_cost(*read, *pages),
            ids.collect::<String>()
        )
    }

    fn json(&self) -> Value {
        let Self { tasks, read, pages } = self;
        json!({ "wouldRedrive": tasks, "read": { "tasks": read, "pages": pages } })
    }
}

/// The operator declined.
#[derive(Debug)]
struct Declined;

impl Report for Declined {
    fn exit(&self) -> Exit {
        Exit::Declined
    }

    fn text(&self) -> String {
        "nothing was redriven".to_owned()
    }

    fn json(&self) -> Value {
        json!({ "redriven": 0, "declined": true })
    }
}
