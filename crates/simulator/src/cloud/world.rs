//! What the parts of the cloud share.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use lifo_queue::time::{Clock, Millis, TokioClock};

use super::fault::{Chance, lock};
use super::ledger::Ledger;
use super::platform::Platform;
use super::runner::Script;
use super::settings::CloudSettings;
use super::stream::Stream;
use super::table::Table;
use super::topic::Topics;

pub(crate) struct World {
    pub(crate) settings: CloudSettings,
    pub(crate) clock: TokioClock,
    pub(crate) chance: Chance,
    pub(crate) ledger: Mutex<Ledger>,
    pub(crate) table: Table,
    pub(crate) stream: Stream,
    pub(crate) topics: Topics,
    pub(crate) platform: Platform,
    pub(crate) script: Box<Script>,
    processes: AtomicU32,
}

impl World {
    pub(crate) fn new(
        settings: CloudSettings,
        clock: TokioClock,
        chance: Chance,
        table: Table,
        script: Box<Script>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings,
            clock,
            chance,
            ledger: Mutex::new(Ledger::new(settings)),
            table,
            stream: Stream::new(settings.stream.shards),
            topics: Topics::default(),
            platform: Platform::default(),
            script,
            processes: AtomicU32::new(0),
        })
    }

    /// The time, as only the cloud knows it.
    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(crate) fn next_process(&self) -> u32 {
        self.processes.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn note(&self, process: u32, text: impl Into<String>) {
        lock(&self.ledger).note(self.now(), process, text);
    }
}
