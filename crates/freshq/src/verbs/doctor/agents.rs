//! Checks of an agents' queue.

use serde_json::json;

use super::{Checkup, Finding};
use crate::agents::{self, AgentsQueue};
use crate::aws::{self, AwsArguments};
use crate::failure::{Failure, Result};
use crate::function::Function;
use crate::queue::QueueArguments;
use crate::report::Report;

/// Checks the stack and the calls of the agents' queue that the command line names.
///
/// # Errors
/// [`Failure`]: no stack is named, or CloudFormation did not respond.
pub(crate) async fn check_agents(queue: &QueueArguments, aws: &AwsArguments) -> Result<Report> {
    let stack = queue.stack()?.ok_or(Failure::NoTemplate)?;
    let stack = stack.in_full(agents::stack_of);
    let queue = agents::connect(stack, &aws::sdk_config(aws).await?).await?;
    Ok(Checkup::of_agents(&queue).await?.report())
}

impl Checkup {
    /// Checks the stack of an agents' queue, and its pending calls.
    ///
    /// # Errors
    /// [`Failure`]: CloudFormation did not respond.
    pub(crate) async fn of_agents(queue: &AgentsQueue) -> Result<Self> {
        let mut checkup = Self::new(queue.name.clone());
        checkup
            .examine(&*queue.deployed, &queue.deployed.stack().await?)
            .await;
        let calls = checkup.read("the pending calls", calls(&*queue.desk).await);
        checkup.note(calls.unwrap_or_default());
        Ok(checkup)
    }
}

/// Finds pending calls for which no agent is queued.
pub(super) async fn calls(desk: &dyn Function) -> Result<(usize, Vec<Finding>)> {
    let queues = desk.send(&json!(agents::Queues {}).to_string()).await?;
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
