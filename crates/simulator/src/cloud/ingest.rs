//! An `ingest-tasks` process.

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::ingest::{Deadlines, Delivery, Ingest, IngestQueue, IngestReport, IngestSettings};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::MemoryStore;
use tokio::time::Instant;

use super::Cloud;
use super::process::{Function, Life};
use super::world::Actor;
use crate::admission::SharedMeter;
use crate::fault::Fault;

/// Time for writing a batch and for reporting the result.
const WRITES: Duration = Duration::from_secs(25);
const REPORT: Duration = Duration::from_secs(29);

/// An `ingest-tasks` process that handles one batch at a time until it dies.
pub struct IngestProcess {
    by: Actor,
    ingest: Ingest,
}

impl Cloud {
    /// Starts a process of `ingest-tasks`, with faults. All processes share the `#ingest` item.
    pub fn start_ingest(
        &self,
        queue: Arc<dyn IngestQueue>,
        shed: ShedCounter,
        settings: IngestSettings,
        item: Arc<MemoryStore>,
    ) -> IngestProcess {
        let by = Actor::start(&self.world, Function::IngestTasks);
        let table: Arc<dyn QueueStore> = self.world.backend.store(&by);
        let meter = SharedMeter {
            item,
            table: table.clone(),
        };
        let ingest = Ingest::new(table, queue, shed, Arc::new(by.process.clock), settings);
        IngestProcess {
            ingest: ingest.admitting_by(Arc::new(meter)),
            by,
        }
    }
}

impl IngestProcess {
    /// Processes a batch, and the messages that the process receives itself. Passes each report to
    /// `count`. Returns the report of the batch, or `None` if the process died before its response.
    /// A dead process takes no further batch.
    pub async fn work(
        &self,
        batch: &[Delivery],
        count: impl Fn(&IngestReport),
    ) -> Option<IngestReport> {
        let Actor { world, process } = &self.by;
        let now = Instant::now();
        let deadlines = Deadlines {
            writes: now + WRITES,
            report: now + REPORT,
        };
        let dies_in = process.kill_after.map_or(Duration::MAX, |after| {
            after.saturating_sub(world.now().since(process.started))
        });
        let work = async {
            let report = self.ingest.work(batch, deadlines).await;
            count(&report);
            let receives = self.ingest.catch_up(batch, &report, deadlines, &count);
            receives.await;
            report
        };
        tokio::select! {
            biased;
            () = process.died() => None,
            report = work => Some(report),
            () = tokio::time::sleep(dies_in) => {
                world.chance.count(Fault::KilledAtRandom);
                process.end(Life::Died);
                None
            }
        }
    }
}
