//! The whole task queue in one process, on a virtual clock, with faults drawn from a seed.
//!
//! Store, stream, topics and invocations simulate the AWS services. `trigger`, `process-tasks` and
//! `sweep-tasks` run the product's own code. Each invocation is a simulated process, which can die
//! between any two of its steps. A ledger checks every step and reports each broken guarantee.
//!
//! ```
//! # #[cfg(feature = "virtual-time")] {
//! use std::time::Duration;
//! use serde_json::json;
//! use simulator::cloud::{self, Deed};
//! use simulator::fault::{Fault, Rates};
//!
//! let report = cloud::play(7, async |builder| {
//!     let rates = Rates::none().with(Fault::NotificationLost, 1.0);
//!     let cloud = builder
//!         .faults(rates, Duration::from_secs(10))
//!         .script(|_task| (Duration::from_secs(1), Deed::Succeed))
//!         .start();
//!     cloud.invoke_create(&[json!({"taskId": "a"})]).await;
//!     assert!(cloud.run_until_settled(Duration::from_secs(300)).await);
//!     cloud.finish()
//! });
//! assert_eq!(report.violations, Vec::<String>::new());
//! assert_eq!(report.census.faults[&Fault::NotificationLost], 1);
//! # }
//! ```
//!
//! | module | content |
//! |---|---|
//! | `builder` | setup of a cloud |
//! | [`clock`] | clocks with a fixed error |
//! | [`settings`] | the configuration, with the deployed defaults |
//! | [`census`] | figures of a run |
//! | `world`, `parts` | shared state of all parts, and the traits of the table and the functions |
//! | `chance` | the seeded fault generator |
//! | `table`, `wire`, `memory`, `memory_wire`, `process_store` | the table, its lagging index, and the simulated network to it |
//! | `embedded` | the table on the embedded DynamoDB, through the real SDK |
//! | `stream`, `topic`, `platform` | the stream, the topics and asynchronous invocations |
//! | [`IngestProcess`] | an `ingest-tasks` process; the test provides the queue |
//! | `functions`, `invocation`, `process`, `steps`, `runner`, `script` | the deployed code, and its simulated processes |
//! | `expiry` | DynamoDB's time to live |
//! | `ledger`, `watch` | records all events and checks the guarantees |

mod builder;
pub mod census;
mod chance;
pub mod clock;
mod embedded;
mod expiry;
mod functions;
mod ingest;
mod invocation;
mod ledger;
mod memory;
mod memory_wire;
mod parts;
mod platform;
mod process;
mod process_store;
mod runner;
mod script;
pub mod settings;
mod steps;
mod stream;
mod table;
mod topic;
mod watch;
mod wire;
mod world;

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::create::{CreateReport, CreateSettings, Creator, LONGEST_TTL};
use lifo_queue::notify::{Notification, WakeReason};
use lifo_queue::store::memory::Record;
use lifo_queue::store::{Order, QueueStore};
use lifo_queue::task::{Place, TaskId};
use lifo_queue::time::Millis;
use serde_json::Value;

pub use self::builder::Builder;
pub use self::census::Census;
pub use self::ingest::IngestProcess;
use self::process::{Function, Life};
pub use self::script::{Deed, Script};
pub use self::settings::CloudSettings;
pub use self::wire::WRITES;
use self::world::{Actor, World};
use crate::sync::{lock, pause};

/// Virtual time at which every run starts: 2027-01-15T08:00:00Z.
pub const BEGIN: Millis = Millis(1_800_000_000_000);

/// Runs `scene` on a paused clock, with all random generators seeded, and returns its result.
/// Requires the feature `virtual-time`.
#[cfg(feature = "virtual-time")]
pub fn play<T>(seed: u64, scene: impl AsyncFnOnce(Builder) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    // The product draws its jitter from this thread's generator.
    fastrand::seed(seed);
    runtime.block_on(scene(Builder::new(seed)))
}

#[derive(Debug)]
pub struct Report {
    /// Descriptions of broken guarantees, in order of occurrence. Maximum: 10.
    pub violations: Vec<String>,
    /// Events of the run, one per line.
    pub trace: Vec<String>,
    pub census: Census,
}

pub struct Cloud {
    world: Arc<World>,
    operator: Actor,
}

impl Cloud {
    /// Invokes `create-tasks` once with these task descriptions, with faults. Returns `None` if the
    /// process died.
    pub async fn invoke_create(&self, specs: &[Value]) -> Option<CreateReport> {
        let by = Actor::start(&self.world, Function::CreateTasks);
        let creator = self.creator(&by);
        let report = tokio::select! {
            biased;
            () = by.process.died() => None,
            report = creator.create(specs) => Some(report),
        };
        by.process.end(Life::Returned);
        report
    }

    fn creator(&self, by: &Actor) -> Creator {
        let settings = CreateSettings {
            default_ttl: self.world.settings.process.default_ttl,
            max_ttl: Duration::from_secs(86_400),
            key_ttl: LONGEST_TTL,
            place: match self.world.settings.process.order {
                Order::NewestFirst => Place::Moves,
                Order::OldestFirst => Place::Stays,
            },
            groups: self.world.settings.process.groups.is_some(),
        };
        let store = self.world.backend.store(by);
        Creator::new(store, Arc::new(by.process.clock), settings)
    }

    /// Writes a task like a direct writer, without validation or conditions.
    pub fn put(&self, id: &TaskId, record: Record) {
        let Actor { world, process } = &self.operator;
        table::put(world, process, id, Some(&record));
    }

    /// Writes tasks like a direct writer, in one batch, and retries unprocessed ones. Returns
    /// whether all were written.
    pub async fn put_batch(&self, tasks: &[(TaskId, Record)]) -> bool {
        let by = Actor::start(&self.world, Function::CreateTasks);
        let backend = &self.world.backend;
        let written = tokio::select! {
            biased;
            () = by.process.died() => false,
            written = backend.put_batch(&by, tasks) => written,
        };
        by.process.end(Life::Returned);
        written
    }

    /// Returns an operator's store, without faults or latency. The ledger also checks its calls.
    pub fn operator(&self) -> Arc<dyn QueueStore> {
        self.world.backend.store(&self.operator)
    }

    /// Publishes to ProcessTasksTopic, as an operator would.
    pub fn wake(&self) {
        let notification = Notification {
            reason: WakeReason::Operator,
            event: "operator".to_owned(),
            trace: None,
        };
        let Actor { world, process } = &self.operator;
        topic::send(world, process, Function::ProcessTasks, &notification);
    }

    /// Lets the given virtual time pass.
    pub async fn run_for(&self, duration: Duration) {
        pause(duration).await;
    }

    /// Lets virtual time pass until every task has ended and nothing is in flight, a guarantee is
    /// broken, or `most` has passed. Returns true only in the first case.
    pub async fn run_until_settled(&self, most: Duration) -> bool {
        let end = self.world.now().plus(most);
        while self.world.now() < end && lock(&self.world.ledger).violations().is_empty() {
            let tasks = self.world.backend.tasks();
            let settled = tasks.iter().all(|(_, record)| record.status.is_settled());
            if settled && watch::is_quiet(&self.world) {
                return true;
            }
            pause(Duration::from_secs(1)).await;
        }
        false
    }

    pub fn task(&self, id: &str) -> Option<Record> {
        self.world.backend.task(&TaskId::from_stored(id))
    }

    pub fn tasks(&self) -> Vec<(TaskId, Record)> {
        self.world.backend.tasks()
    }

    pub fn now(&self) -> Millis {
        self.world.now()
    }

    /// Ends the run and returns its report. A task that has not ended is a violation, unless a
    /// guarantee was already broken.
    pub fn finish(self) -> Report {
        let world = &self.world;
        let now = world.now();
        let mut ledger = lock(&world.ledger);
        if ledger.violations().is_empty() {
            ledger.all_ended(now);
        }
        let mut census = lock(&world.chance.census).clone();
        census.schedules = 1;
        census.steps = ledger.steps;
        census.starts = ledger.starts;
        census.slots = ledger.slot_events().clone();
        census.seconds = now.since(BEGIN).as_secs();
        for end in ledger.ends() {
            census.tasks += 1;
            let end = end.unwrap_or("none").to_owned();
            *census.ends.entry(end).or_default() += 1;
        }
        Report {
            violations: ledger.violations().to_vec(),
            trace: ledger.trace(),
            census,
        }
    }
}
