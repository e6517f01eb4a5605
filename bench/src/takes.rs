//! Counts how often a task is taken until it is done, either with poison tasks among the other
//! tasks or with a downstream that is busy half of the time. The turns use a virtual clock and the
//! in-memory store, so the figures do not depend on the machine.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::process::{Exit, Invocation, ProcessSettings, Processor};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::task::Task;
use lifo_queue::time::{Clock, Millis, TokioClock};
use simulator::topics::Topics;

use crate::runtime::in_virtual_time;
use crate::{Arguments, Error, turn};

const RUN: Duration = Duration::from_millis(100);

/// Duration of each phase. The downstream is busy in one phase and available in the next.
const PHASE: Duration = Duration::from_secs(1);

/// The sweep interval. The sweep wakes a processor for tasks that became due after a turn.
const SWEEP: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Downstream {
    /// Every tenth task fails in every attempt.
    Poison,
    /// Busy for a second, then available for a second.
    BusyHalfOfTheTime,
}

/// Counts of a drained backlog.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Takes {
    pub(crate) taken: u32,
    pub(crate) succeeded: u32,
    pub(crate) failed: u32,
    pub(crate) turns: u32,
}

struct Flawed {
    downstream: Downstream,
    clock: TokioClock,
    start: Millis,
}

#[async_trait]
impl TaskRunner for Flawed {
    async fn run(&self, task: &Task) -> Outcome {
        tokio::time::sleep(RUN).await;
        match self.downstream {
            Downstream::Poison if task.task_id.as_str().ends_with('0') => Outcome::Retry {
                reason: "poison".to_owned(),
            },
            Downstream::BusyHalfOfTheTime if self.is_busy() => Outcome::Busy {
                retry_after: None,
                reason: String::new(),
            },
            _ => Outcome::Success,
        }
    }
}

impl Flawed {
    fn is_busy(&self) -> bool {
        let passed = self.clock.now().since(self.start);
        (passed.as_millis() / PHASE.as_millis()).is_multiple_of(2)
    }
}

pub(crate) fn measure(arguments: &Arguments, downstream: Downstream) -> Result<Takes, Error> {
    in_virtual_time(0, drain(arguments, downstream))
}

async fn drain(arguments: &Arguments, downstream: Downstream) -> Result<Takes, Error> {
    let store: Arc<dyn QueueStore> = Arc::new(MemoryStore::new());
    turn::insert_all(&store, arguments.tasks).await?;
    let start = lifo_queue::time::SystemClock.now();
    let clock = TokioClock::starting_at(start);
    let settings = ProcessSettings {
        turn: Duration::from_secs(60),
        index_lag: Duration::from_secs(2),
        ..turn::settings(arguments.slots)
    };
    let runner = Flawed {
        downstream,
        clock,
        start,
    };
    let processor = Processor::new(
        store,
        Arc::new(Topics::default()),
        Arc::new(runner),
        Arc::new(clock),
        settings,
    );
    let mut takes = Takes::default();
    while takes.succeeded + takes.failed < arguments.tasks {
        if takes.turns > 1_000 {
            return Err(format!("{downstream:?}: the queue was not drained: {takes:?}").into());
        }
        let invocation = Invocation {
            message_id: format!("turn {}", takes.turns),
            deadline: None,
        };
        let summary = processor.turn(invocation).await?;
        takes.turns += 1;
        takes.taken += summary.taken;
        takes.succeeded += summary.succeeded;
        takes.failed += summary.failed;
        if summary.exit != Exit::TimeUp {
            tokio::time::sleep(SWEEP).await;
        }
    }
    Ok(takes)
}
