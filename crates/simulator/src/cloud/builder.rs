//! Setup and start of a cloud.

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::notify::WakeReason;
use lifo_queue::process::ProcessSettings;
use lifo_queue::task::Task;
use lifo_queue::time::TokioClock;

use super::chance::Chance;
use super::embedded::Embedded;
use super::functions::Deployed;
use super::invocation::Event;
use super::memory::InMemory;
use super::platform;
use super::process::Function;
use super::script::{Deed, Script};
use super::settings::CloudSettings;
use super::stream;
use super::world::{Actor, Backend, World};
use super::{BEGIN, Cloud, expiry, watch};
use crate::dynamodb::NotStarted;
use crate::fault::Rates;
use crate::sync::pause;

pub struct Builder {
    seed: u64,
    settings: CloudSettings,
    rates: Rates,
    faults_for: Duration,
    script: Box<Script>,
    backend: Box<dyn Backend>,
}

impl Builder {
    /// Creates a builder with the in-memory table, the deployed default settings and no faults.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            settings: CloudSettings::default(),
            rates: Rates::none(),
            faults_for: Duration::from_secs(600),
            script: Box::new(|_| (Duration::from_millis(100), Deed::Succeed)),
            backend: Box::new(InMemory::default()),
        }
    }

    #[must_use]
    pub fn settings(mut self, settings: CloudSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the settings of `process-tasks`.
    #[must_use]
    pub fn process(mut self, process: ProcessSettings) -> Self {
        self.settings.process = process;
        self
    }

    /// Injects faults at these rates for the first `faults_for` of virtual time.
    #[must_use]
    pub fn faults(mut self, rates: Rates, faults_for: Duration) -> Self {
        self.rates = rates;
        self.faults_for = faults_for;
        self
    }

    /// Sets the duration and outcome of each run. Default: success after 100 ms.
    #[must_use]
    pub fn script(
        mut self,
        script: impl Fn(&Task) -> (Duration, Deed) + Send + Sync + 'static,
    ) -> Self {
        self.script = Box::new(script);
        self
    }

    /// Uses the embedded DynamoDB, through the real SDK client, instead of the in-memory table.
    pub fn embedded(mut self) -> Result<Self, NotStarted> {
        self.backend = Box::new(Embedded::start()?);
        Ok(self)
    }

    pub fn start(self) -> Cloud {
        let chance = Chance::new(self.seed, self.rates, BEGIN.plus(self.faults_for));
        let clock = TokioClock::starting_at(BEGIN);
        let world = World::new(
            self.settings,
            clock,
            chance,
            Box::new(Deployed),
            self.backend,
            self.script,
        );
        let operator = Actor::start(&world, Function::Operator);
        stream::start(&world);
        expiry::start(&world);
        watch::start(&world);
        sweep_every_interval(&world);
        Cloud { world, operator }
    }
}

fn sweep_every_interval(world: &Arc<World>) {
    let world = world.clone();
    tokio::spawn(async move {
        for number in 1_u64.. {
            pause(world.settings.sweep_interval).await;
            let event = Event {
                message_id: format!("sweep-{number}"),
                reason: WakeReason::Sweep,
            };
            platform::submit(&world, Function::SweepTasks, event);
        }
    });
}
