//! A process of `ingest-tasks`.

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::ingest::{Deadlines, Delivery, Ingest, IngestQueue, IngestReport, IngestSettings};
use lifo_queue::shed::ShedCounter;
use lifo_queue::store::QueueStore;
use lifo_queue::store::memory::MemoryStore;
use tokio::time::Instant;

use super::Cloud;
use super::fault::FaultKind;
use super::process::{Function, Life, Process};
use super::world::World;
use crate::admission::SharedMeter;

/// Time for the writes of a batch, and for its report.
const WRITES: Duration = Duration::from_secs(25);
const REPORT: Duration = Duration::from_secs(29);

/// A process that processes batches one after the other, until it dies.
pub struct IngestProcess {
    world: Arc<World>,
    process: Arc<Process>,
    ingest: Ingest,
}

impl Cloud {
    /// Starts a process of `ingest-tasks`, with faults. Processes share the item `#ingest`.
    pub fn start_ingest(
        &self,
        queue: Arc<dyn IngestQueue>,
        shed: ShedCounter,
        settings: IngestSettings,
        item: Arc<MemoryStore>,
    ) -> IngestProcess {
        let world = self.world.clone();
        let process = Arc::new(Process::start(&world, Function::IngestTasks));
        let table: Arc<dyn QueueStore> = world.backend.store(&world, &process);
        let meter = SharedMeter {
            item,
            table: table.clone(),
        };
        let ingest = Ingest::new(table, queue, shed, Arc::new(process.clock), settings);
        IngestProcess {
            ingest: ingest.admitting_by(Arc::new(meter)),
            world,
            process,
        }
    }
}

impl IngestProcess {
    /// Processes a batch. `None` if the process died: then it reported nothing, and takes no
    /// further batch.
    pub async fn work(&self, batch: &[Delivery]) -> Option<IngestReport> {
        let now = Instant::now();
        let deadlines = Deadlines {
            writes: now + WRITES,
            report: now + REPORT,
        };
        let dies_in = self.process.kill_after.map_or(Duration::MAX, |after| {
            after.saturating_sub(self.world.now().since(self.process.started))
        });
        tokio::select! {
            biased;
            () = self.process.died() => None,
            report = self.ingest.work(batch, deadlines) => Some(report),
            () = tokio::time::sleep(dies_in) => {
                self.world.chance.count(FaultKind::KilledAtRandom);
                self.process.end(Life::Died);
                None
            }
        }
    }
}
