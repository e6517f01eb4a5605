//! `freshq smoke`: checks a deployed queue with test tasks.

mod checks;
mod results;
mod states;
mod tasks;
mod unknowns;

use async_trait::async_trait;
use clap::Args;
use indicatif::ProgressBar;
use lifo_queue::notify::{Notification, WakeReason};
use serde_json::json;
use serde_json::value::RawValue;

use self::checks::{Check, Outcome};
use self::results::Results;
use self::tasks::TestTasks;
use super::{Checkup, VerbOnQueue, pause};
use crate::confirm::Prompt;
use crate::deployed::{Deployed, Kind, Stack};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::queue::Queue;
use crate::report::Report;

/// Checks a deployed queue, which may be in use: creates test tasks, expects that the newest start
/// first and that all succeed, and deletes them. The downstream runs them like other tasks. Then
/// checks what doctor checks, and lists which AWS behavior this has shown. Asks first. Exits 1 if a
/// check failed.
#[derive(Debug, Args)]
pub(crate) struct Smoke {
    /// The payload of the test tasks, any JSON for which the downstream reports success
    #[arg(long, value_name = "JSON", default_value = "{\"freshq\":\"smoke\"}")]
    pub(crate) payload: String,
    /// Skips the confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[async_trait]
impl VerbOnQueue for Smoke {
    async fn run(&self, queue: &Queue, prompt: &mut dyn Prompt) -> Result<Report> {
        let payload = serde_json::from_str::<&RawValue>(&self.payload)
            .map_err(|error| Failure::input("--payload", format!("{error}; give JSON")))?;
        let deployed = queue.deployed.as_deref().ok_or(Failure::NoTemplate)?;
        let creates = queue.creates.as_deref().ok_or(Failure::NoCreateTasks)?;
        let (stack, control) = (deployed.stack().await?, queue.store.control().await?);
        let now = queue.clock.now();
        if control.is_paused(now) || control.breaker.is_some() {
            let why = pause::stands(&control, now).map(|until| format!("is paused {until}"));
            let why = why.unwrap_or_else(|| "has an open circuit breaker".to_owned());
            let text = format!("nothing was checked: the queue {why}; freshq status says more");
            return Ok(Report::new(Exit::NotAll, text, json!({ "checks": [] })));
        }
        let mut tasks = TestTasks::new(queue, creates, payload, &stack);
        if !self.yes {
            let question = question(&tasks, &stack, payload, queue.place().await);
            if !prompt.confirms(&question, "--yes")? {
                let json = json!({ "checks": [], "declined": true });
                return Ok(Report::new(Exit::Declined, "nothing was checked", json));
            }
        }
        let mut checks = Results {
            is_local: stack.is_local,
            results: Vec::new(),
            exit: Exit::Done,
        };
        tokio::select! {
            () = run(&mut checks, &mut tasks, queue, (deployed, &stack)) => {}
            stopped = tokio::signal::ctrl_c() => {
                stopped.map_err(Failure::Terminal)?;
                checks.note(Check::Settled, Ok(Outcome::Failed("interrupted".to_owned())));
            }
        }
        checks.note(Check::Deleted, tasks.delete().await);
        // The state is checked last, because the test tasks may have caused findings.
        let checkup = Checkup::of(queue).await;
        checks.note(Check::Doctor, Ok(checkup.into()));
        checks.note(Check::Alarms, alarms(deployed, &stack).await);
        Ok(checks.report())
    }
}

fn question(tasks: &TestTasks<'_>, stack: &Stack, payload: &RawValue, place: String) -> String {
    let (count, slots) = (tasks.count(), tasks.slots);
    let downstream = stack.downstream();
    let downstream = downstream.map_or("runner".to_owned(), |name| format!("downstream {name}"));
    format!(
        "This creates {count} test tasks in {place}. The queue runs them like other tasks, up to {slots} at a time:\n\
         the {downstream} gets each with the payload {payload}. Newer tasks of yours start first, older ones after them.\n\
         The command then deletes the test tasks. It sends two notifications and changes no setting. Continue?"
    )
}

async fn run(
    checks: &mut Results,
    tasks: &mut TestTasks<'_>,
    queue: &Queue,
    (deployed, stack): (&dyn Deployed, &Stack),
) {
    let progress = ProgressBar::new_spinner();
    let step = |what: &'static str| {
        progress.set_message(what);
        progress.tick();
    };
    step("sends notifications");
    checks.note(Check::Topics, topics(queue, stack).await);
    checks.note(Check::Writes, writes(queue, deployed).await);
    step("creates single tasks");
    checks.note(Check::WakeUp, tasks.wake_up().await);
    step("creates test tasks that are due at the same time");
    let created = tasks.create_burst().await;
    let is_created = matches!(created, Ok(Outcome::Ok(_)));
    checks.note(Check::Created, created);
    if is_created {
        checks.note(Check::Index, tasks.index().await);
        step("waits until the test tasks have ended");
        match tasks.settle().await {
            Ok((order, settled)) => {
                checks.note(Check::Order, Ok(order));
                checks.note(Check::Settled, Ok(settled));
            }
            Err(failure) => checks.note(Check::Settled, Err(failure)),
        }
    }
    progress.finish_and_clear();
}

/// Writes as only some operations of the queues do: an update without a condition that nevertheless
/// requests the item if its condition fails, which counts a wake-up, and a repeated transaction.
async fn writes(queue: &Queue, deployed: &dyn Deployed) -> Result<Outcome> {
    queue.store.request().await?;
    let repeats = deployed.repeats_cancelled_transaction(&queue.table).await?;
    Ok(match repeats {
        true => Outcome::Ok("DynamoDB accepts the queue's special writes".to_owned()),
        false => Outcome::Failed(
            "DynamoDB cancelled the repetition of a transaction whose condition was true by then"
                .to_owned(),
        ),
    })
}

/// Publishes to both topics. An extra notification starts at most an empty turn.
async fn topics(queue: &Queue, stack: &Stack) -> Result<Outcome> {
    let notification = Notification {
        reason: WakeReason::Operator,
        event: "freshq-smoke".to_owned(),
        trace: None,
    };
    let published = async {
        queue.notifier.wake_processor(&notification).await?;
        queue.notifier.tail_call(&notification).await
    };
    published
        .await
        .map_err(|error| Failure::Wake(error.into()))?;
    let topics = stack
        .resources
        .iter()
        .filter(|there| there.kind == Kind::Topic);
    let plain = topics.filter(|topic| topic.wanted["KmsMasterKeyId"].is_null());
    Ok(match plain.count() {
        0 => Outcome::Ok("both accept notifications, encrypted".to_owned()),
        _ => Outcome::NotShown(
            "they accept notifications, but not all topics are encrypted".to_owned(),
        ),
    })
}

/// Checks that no alarm fires. That of missing sweeps fires without the metrics of the log lines.
async fn alarms(deployed: &dyn Deployed, stack: &Stack) -> Result<Outcome> {
    let alarms = stack.resources.iter();
    let alarms = alarms.filter(|there| there.kind == Kind::Alarm);
    let alarms: Vec<_> = alarms.map(|alarm| alarm.id.as_str()).collect();
    match deployed.firing(&alarms).await {
        Ok(firing) if firing.is_empty() => {
            Ok(Outcome::Ok(format!("none of {} fires", alarms.len())))
        }
        Ok(firing) => Ok(Outcome::Failed(format!("firing: {}", firing.join(", ")))),
        Err(failure @ (Failure::NotLocal | Failure::NoAwsCli { .. })) => {
            Ok(Outcome::NotShown(failure.line()))
        }
        Err(failure) => Err(failure),
    }
}

impl From<Checkup> for Outcome {
    fn from(checkup: Checkup) -> Self {
        let findings = checkup.findings.iter();
        let findings = findings.map(|there| format!("{}: {}", there.place, there.what));
        let (local, unread): (Vec<_>, Vec<_>) = checkup
            .unchecked
            .iter()
            .partition(|(_, failure)| matches!(failure, Failure::NotLocal));
        let unread = unread
            .iter()
            .map(|(place, _)| format!("not checked: {place}"));
        let problems: Vec<_> = findings.chain(unread).collect();
        let checked = format!("no finding in {} settings and states", checkup.checked);
        match (problems.is_empty(), local.len()) {
            (false, _) => {
                Self::Failed(format!("{}; freshq doctor shows more", problems.join("; ")))
            }
            (true, 0) => Self::Ok(checked),
            (true, count) => Self::Ok(format!("{checked}; not on a local AWS: {count} resources")),
        }
    }
}

#[cfg(test)]
mod tests;
