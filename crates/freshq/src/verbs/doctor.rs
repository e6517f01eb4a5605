//! `freshq doctor`: compares the settings of a deployed queue with its template and checks its
//! state.

mod flow;
mod groups;
mod known;
mod policies;
mod settings;
mod state;
mod times;
mod variables;

use async_trait::async_trait;
use clap::Args;
use futures::{StreamExt, stream};
use lifo_queue::operate::Find;
use lifo_queue::task::TaskStatus;
use serde::Serialize;
use serde_json::{Value, json};

use super::{VerbOnQueue, cause};
use crate::agents;
use crate::aws::{self, AwsArguments};
use crate::confirm::Prompt;
use crate::deployed::{Deployed, Message, Resource, Stack};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::function::Function;
use crate::queue::{Queue, QueueArguments};
use crate::report::Report;
use crate::sample::Tasks;

/// Maximum number of resources to read concurrently.
const READS_AT_ONCE: usize = 8;

/// Minimum number of running tasks to read if more tasks are TAKEN than the concurrency allows.
const TAKEN_READ: usize = 100;

/// Checks a deployed queue: each setting against the deployed template, failure queues, the
/// processor, a pause and the circuit breaker. Reads only. Exits 1 on any finding.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Checks the agents' queue of the environment instead, or the one in --stack
    #[arg(long)]
    pub(crate) agents: bool,
}

/// A problem that doctor found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The resource, as text.
    pub(crate) place: String,
    /// What is wrong with the resource.
    pub(crate) what: String,
    /// Why the problem matters.
    pub(crate) why: String,
    /// How to fix the problem.
    pub(crate) remedy: String,
}

/// The outcome of all checks.
#[derive(Debug, Default)]
pub(crate) struct Checkup {
    queue: String,
    /// The function or the URL that runs the tasks; `None` for an agents' queue.
    pub(crate) downstream: Option<String>,
    pub(crate) checked: usize,
    pub(crate) findings: Vec<Finding>,
    /// Description of the tasks that start late, possibly as a producer intended.
    pub(crate) late: Option<String>,
    /// Resources that could not be read, each with the error; a local AWS does not support all.
    pub(crate) unchecked: Vec<(String, Failure)>,
}

#[async_trait]
impl VerbOnQueue for Doctor {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report, Failure> {
        Ok(Checkup::of(queue).await?.report())
    }
}

/// Checks the state of the queue, and the numbers of tasks created and ended in the last minute.
async fn state(queue: &Queue, stack: &Stack, checkup: &mut Checkup) -> Result<(), Failure> {
    let concurrency = stack.concurrency();
    let status = queue.operator.status().await?;
    let tasks = Tasks::read(queue, &status).await?;
    let taken = match concurrency {
        // Check the items, because the index lags behind them.
        Some(limit) if status.taken.count as usize > limit => {
            let find = Find::newest(TaskStatus::Taken, TAKEN_READ.max(2 * limit));
            queue.operator.find(&find).await?.tasks
        }
        _ => Vec::new(),
    };
    let groups = groups::check(&queue.store.groups().await?, status.now);
    // Limits of groups are already a finding and explain a growing backlog.
    let is_limited = !groups.1.is_empty();
    let surplus = concurrency.and_then(|limit| flow::taken(&taken, limit, status.now));
    // Report a likely cause before the growing backlog that it explains.
    let checks = [
        state::control(&status, stack.secret().as_deref()),
        groups,
        times::check(queue, &status).await?,
        flow::flow(&status, &tasks, is_limited),
        (1, surplus.into_iter().collect()),
    ];
    let downstream = stack.downstream();
    let slots = concurrency.map(|slots| slots.to_string());
    let names = [("<downstream>", &downstream), ("<concurrency>", &slots)];
    for (checked, mut findings) in checks {
        for finding in &mut findings {
            for (place, name) in names {
                let name = name.as_deref().unwrap_or(place);
                finding.remedy = finding.remedy.replace(place, name);
            }
        }
        checkup.note((checked, findings));
    }
    checkup.downstream = downstream;
    checkup.late = cause::notice(status.now, &tasks);
    Ok(())
}

/// Checks the stack of an agents' queue.
///
/// # Errors
/// [`Failure`]: no stack is named, or CloudFormation did not respond.
pub(crate) async fn check_agents(
    queue: &QueueArguments,
    aws: &AwsArguments,
) -> Result<Report, Failure> {
    let (name, stack) = queue.deployed(aws, agents::stack_of).await?;
    let mut checkup = Checkup::new(name.clone());
    checkup.examine(&stack, &stack.stack().await?).await;
    let desk = agents::desk(&name, &aws::sdk_config(aws).await?).await?;
    match calls(&desk).await {
        Ok(calls) => checkup.note(calls),
        Err(failure) => checkup
            .unchecked
            .push(("the pending calls".to_owned(), failure)),
    }
    Ok(checkup.report())
}

/// Finds pending calls for which no agent is queued.
async fn calls(desk: &dyn Function) -> Result<(usize, Vec<Finding>), Failure> {
    let queues = desk.send(&json!(agents::Queues {})).await?;
    let depths = queues["queues"].as_array().map_or(&[][..], Vec::as_slice);
    let pending = queues["pending"].as_array().into_iter().flatten();
    let unmatched = pending
        .filter(|calls| calls["depth"] != 0)
        .map(|calls| agents::pending_calls(calls, depths))
        .filter(|[_, _, queued, ..]| queued.parse::<u64>().is_ok_and(|n| n == 0) || queued.contains(' '))
        .map(|[criteria, calls, queued, oldest, pending]| Finding {
            place: format!("the calls for {criteria}"),
            what: match oldest.as_str() {
                // An earlier release of the desk does not return the oldest call.
                "" => format!("{calls} pending calls; matching queued agents: {queued}"),
                _ => format!("{calls} pending calls, the oldest {oldest} for {pending}; matching queued agents: {queued}"),
            },
            why: "these calls stay pending until a matching agent joins its queues, or they expire".to_owned(),
            remedy: "freshq agents lists the agents with their attributes and status; freshq agent enqueue <id> lets one join its queues, and freshq agent register adds attributes".to_owned(),
        });
    Ok((1, unmatched.collect()))
}

/// The settings of a resource, and some messages if it is a non-empty failure queue.
type Read = (Option<Value>, Result<Vec<Message>, Failure>);

async fn read<'a>(
    deployed: &dyn Deployed,
    stack: &Stack,
    resource: &'a Resource,
) -> (&'a Resource, Result<Read, Failure>) {
    let now = match deployed.now(resource.kind, &resource.id).await {
        Ok(now) => now,
        Err(failure) => return (resource, Err(failure)),
    };
    let failed = now.as_ref().map(|now| state::failed(stack, resource, now));
    let messages = match failed {
        Some(1..) => deployed.messages(&resource.id).await,
        _ => Ok(Vec::new()),
    };
    (resource, Ok((now, messages)))
}

impl Checkup {
    /// Checks the stack of a queue and its state.
    ///
    /// # Errors
    /// [`Failure`]: no stack is named, or CloudFormation did not respond.
    pub(crate) async fn of(queue: &Queue) -> Result<Self, Failure> {
        let deployed = queue.deployed.as_deref().ok_or(Failure::NoTemplate)?;
        let stack = deployed.stack().await?;
        let mut checkup = Self::new(queue.name.clone());
        // Check the state before the settings, because operators notice the state first.
        if let Err(failure) = state(queue, &stack, &mut checkup).await {
            let place = "the state of the queue".to_owned();
            checkup.unchecked.push((place, failure));
        }
        checkup.examine(deployed, &stack).await;
        Ok(checkup)
    }

    fn new(queue: String) -> Self {
        Self {
            queue,
            ..Self::default()
        }
    }

    /// Checks every resource of a stack.
    async fn examine(&mut self, deployed: &dyn Deployed, stack: &Stack) {
        self.note(state::complete(stack));
        let resources = stack.resources.iter();
        let reads: Vec<_> = resources
            .map(|resource| read(deployed, stack, resource))
            .collect();
        let mut reads = stream::iter(reads).buffered(READS_AT_ONCE);
        while let Some((resource, read)) = reads.next().await {
            match read {
                Ok((now, messages)) => {
                    let messages = messages.unwrap_or_else(|failure| {
                        let place = format!("the messages of {}", resource.place());
                        self.unchecked.push((place, failure));
                        Vec::new()
                    });
                    self.note(settings::check(stack, resource, now.as_ref(), &messages));
                }
                Err(failure) => self.unchecked.push((resource.place(), failure)),
            }
        }
    }

    fn note(&mut self, (checked, findings): (usize, Vec<Finding>)) {
        self.checked += checked;
        self.findings.extend(findings);
    }
}

fn is_local(failure: &Failure) -> bool {
    matches!(failure, Failure::NotLocal)
}

impl Checkup {
    fn report(&self) -> Report {
        Report::new(self.exit(), self.text(), self.json())
    }

    fn exit(&self) -> Exit {
        let mut unchecked = self.unchecked.iter();
        let complete = unchecked.all(|(_, failure)| is_local(failure));
        match (self.findings.is_empty(), complete) {
            (false, _) => Exit::NotAll,
            (true, false) => Exit::Failed,
            (true, true) => Exit::Done,
        }
    }

    fn text(&self) -> String {
        let mut lines = Vec::new();
        for finding in &self.findings {
            lines.push(format!("{}: {}", finding.place, finding.what));
            lines.push(format!("  why it matters: {}", finding.why));
            lines.push(format!("  remedy: {}", finding.remedy));
        }
        if let Some(late) = &self.late {
            lines.push(format!("notice: {late}"));
        }
        let unchecked = self.unchecked.iter();
        let (local, others): (Vec<_>, Vec<_>) =
            unchecked.partition(|(_, failure)| is_local(failure));
        for (place, failure) in others {
            lines.push(format!("not checked: {place}: {}", failure.line()));
        }
        if !local.is_empty() {
            lines.push(format!("not checked: {} resources that a local AWS does not support; --output json names them", local.len()));
        }
        if let Some(downstream) = &self.downstream {
            lines.push(format!("downstream: {downstream}"));
        }
        lines.push(format!(
            "{}: settings checked: {}, findings: {}{}, not checked: {}",
            self.queue,
            self.checked,
            self.findings.len(),
            self.late.as_ref().map_or("", |_| ", notices: 1"),
            self.unchecked.len()
        ));
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let unchecked = self.unchecked.iter();
        let unchecked =
            unchecked.map(|(place, failure)| json!({ "place": place, "error": failure.line() }));
        json!({
            "queue": self.queue,
            "downstream": self.downstream,
            "checked": self.checked,
            "findings": self.findings,
            "late": self.late,
            "notChecked": unchecked.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
