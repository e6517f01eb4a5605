//! `freshq doctor`: compares the settings of a deployed queue with its template and checks its
//! state.

mod agents;
mod checks;
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
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::agents::check_agents;
use super::VerbOnQueue;
use crate::confirm::Prompt;
use crate::deployed::{Deployed, Message, Resource, Stack};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Maximum number of resources to read concurrently.
const READS_AT_ONCE: usize = 8;

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
    pub(crate) queue: String,
    /// The function or the URL that runs the tasks; `None` for an agents' queue.
    pub(crate) downstream: Option<String>,
    /// Whether the settings of a stack were checked.
    pub(crate) has_stack: bool,
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
        Ok(Checkup::of(queue).await.report())
    }
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
    /// Checks the state of a queue, and its stack. A queue of `freshq dev` has no stack.
    pub(crate) async fn of(queue: &Queue) -> Self {
        let mut checkup = Self::new(queue.name.clone());
        let deployed = queue.deployed.as_deref();
        let stack = match deployed {
            Some(deployed) => checkup.read("the settings of the stack", deployed.stack().await),
            None if queue.is_dev => None,
            None => checkup.read("the settings of the stack", Err(Failure::NoTemplate)),
        };
        // Check the state before the settings, because operators notice the state first.
        checks::check(queue, stack.as_ref(), &mut checkup).await;
        if let (Some(deployed), Some(stack)) = (deployed, &stack) {
            checkup.examine(deployed, stack).await;
        }
        checkup
    }

    fn new(queue: String) -> Self {
        Self {
            queue,
            ..Self::default()
        }
    }

    /// Checks every resource of a stack.
    async fn examine(&mut self, deployed: &dyn Deployed, stack: &Stack) {
        self.has_stack = true;
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

    /// Notes the finding of one check, unless its read failed.
    fn note_read(&mut self, finding: Option<Option<Finding>>) {
        if let Some(finding) = finding {
            self.note((1, finding.into_iter().collect()));
        }
    }

    /// Returns what was read. Notes the failure of a read.
    fn read<T, E: Into<Failure>>(&mut self, place: &str, read: Result<T, E>) -> Option<T> {
        let failed = |failure: E| self.unchecked.push((place.to_owned(), failure.into()));
        read.map_err(failed).ok()
    }

    /// Replaces the placeholders in the remedies of the state's findings with the stack's names.
    fn name_places(&mut self, stack: Option<&Stack>) {
        self.downstream = stack.and_then(Stack::downstream);
        let slots = stack.and_then(Stack::concurrency);
        let slots = slots.map(|slots| slots.to_string());
        let names = [
            ("<downstream>", &self.downstream),
            ("<concurrency>", &slots),
        ];
        for finding in &mut self.findings {
            for (place, name) in names {
                if let Some(name) = name {
                    finding.remedy = finding.remedy.replace(place, name);
                }
            }
        }
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
            "{}: {}: {}, findings: {}{}, not checked: {}",
            self.queue,
            match self.has_stack {
                true => "settings checked",
                // Without a stack, only the state of the queue is checked.
                false => "checks of the state",
            },
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
