//! The environment of a run: one table, one clock, and the processes' connections to the table.

use std::sync::Arc;

use agent_queue::dimension::Dimensions;
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::AgentStore;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::store::memory::MemoryStore;
use agent_queue::time::{Micros, TokioClock};
use simulator::agents::embedded::Embedded;
use simulator::conflicts::timed_store::TimedStore;
use simulator::conflicts::{Conflicts, Latency, Model};
use simulator::dynamodb::AGENT_TABLE;

use super::LATENCY;
use super::mode::Mode;
use crate::Error;

/// The time at which every run starts.
const NOW: Micros = Micros(1_800_000_000_000_000);

/// The kind of table. Rates are measured in memory, and units on the embedded DynamoDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    Memory,
    Embedded,
}

enum Table {
    Memory(Arc<MemoryStore>),
    Embedded(Embedded),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    pub(super) mode: Mode,
    pub(super) truth: Truth,
    /// Write limit per partition, in units per second. `None` means no limit.
    pub(super) write_limit: Option<f64>,
    pub(super) seed: u64,
}

pub(super) struct Stage {
    table: Table,
    clock: Arc<TokioClock>,
    /// Latency and conflicts of the measured processes.
    pub(super) conflicts: Conflicts,
    /// Conflicts of the setup, which has no latency.
    pub(super) preparing: Conflicts,
}

impl Stage {
    pub(super) fn set(conditions: Conditions) -> Result<Self, Error> {
        let Conditions { mode, seed, .. } = conditions;
        Ok(Self {
            table: match conditions.truth {
                Truth::Memory => Table::Memory(Arc::default()),
                Truth::Embedded => Table::Embedded(Embedded::start()?),
            },
            clock: Arc::new(TokioClock::starting_at(NOW)),
            conflicts: Conflicts::of(Model {
                latency: LATENCY,
                both_rejected: mode.both_rejected(),
                seed,
                write_limit: conditions.write_limit,
            }),
            preparing: Conflicts::new(Latency::default()),
        })
    }

    pub(super) fn clock(&self) -> Arc<TokioClock> {
        self.clock.clone()
    }

    pub(super) fn queue(&self, conflicts: &Conflicts) -> Arc<AgentQueue> {
        let store: Arc<dyn AgentStore> = match &self.table {
            Table::Memory(truth) => Arc::new(TimedStore::new(conflicts.clone(), truth.clone())),
            Table::Embedded(embedded) => {
                let client = conflicts.client_of(embedded.engine());
                Arc::new(DynamoStore::new(client, AGENT_TABLE, Dimensions::default()))
            }
        };
        let settings = Settings::default();
        Arc::new(AgentQueue::new(store, self.clock.clone(), settings))
    }
}
