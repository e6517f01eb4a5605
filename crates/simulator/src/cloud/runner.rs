//! The simulated downstream, which scripts the outcome of each run per task and attempt.

use async_trait::async_trait;
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::task::{Task, TaskId};

use super::ledger::RunEnd;
use super::script::Deed;
use super::world::Actor;
use crate::fault::Fault;
use crate::sync::{lock, pause};

pub(crate) struct ProcessRunner(pub(crate) Actor);

/// Reports the end of a run to the ledger, even if the run is dropped.
struct Running<'a> {
    runner: &'a ProcessRunner,
    task: TaskId,
    end: RunEnd,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Actor { world, process } = &self.runner.0;
        lock(&world.ledger).run_ended(world.now(), process, &self.task, self.end);
    }
}

#[async_trait]
impl TaskRunner for ProcessRunner {
    async fn run(&self, task: &Task) -> Outcome {
        let Actor { world, process } = &self.0;
        let call = process.enter(world, "run").await;
        let truth = world.backend.task(&task.task_id);
        lock(&world.ledger).run_started(world.now(), process, task, truth.as_ref());
        let mut running = Running {
            runner: self,
            task: task.task_id.clone(),
            end: RunEnd::Dropped,
        };
        let (duration, deed) = (world.script)(task);
        pause(duration).await;
        process.leave(world, call, "run").await;
        let reason = || "as scripted".to_owned();
        let outcome = match deed {
            Deed::Succeed => Outcome::Success,
            Deed::Fail => Outcome::Failure { reason: reason() },
            Deed::Retry => Outcome::Retry { reason: reason() },
            Deed::Busy(retry_after) => Outcome::Busy {
                retry_after,
                reason: reason(),
            },
            Deed::Unavailable => Outcome::Unavailable { reason: reason() },
            Deed::Reject => Outcome::Rejecting { reason: reason() },
            Deed::Hang => std::future::pending().await,
            Deed::Kill => {
                process.die_of(world, "run", Fault::KilledByTask).await;
                std::future::pending().await
            }
            Deed::Panic => {
                running.end = RunEnd::Again;
                // Skip the panic hook, because it would print the panic.
                std::panic::resume_unwind(Box::new("a scripted panic"))
            }
        };
        running.end = match &outcome {
            Outcome::Success | Outcome::Failure { .. } => RunEnd::Final,
            Outcome::Busy { .. } => RunEnd::Busy,
            Outcome::Unavailable { .. } | Outcome::Rejecting { .. } => RunEnd::Unavailable,
            _ => RunEnd::Again,
        };
        outcome
    }
}
