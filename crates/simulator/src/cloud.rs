//! The whole loop in one process on a virtual clock, with faults that are scripted or drawn from
//! a seed.
//!
//! Store, stream, topics and invocations stand for the AWS services; `trigger`, `process-tasks`
//! and `sweep-tasks` run the product's own code, each invocation in a process of its own that
//! can die between any two of its steps. A ledger watches every step and says which guarantee
//! was broken.
//!
//! ```
//! # #[cfg(feature = "virtual-time")] {
//! use std::time::Duration;
//! use simulator::cloud::{self, Deed, FaultKind};
//!
//! let report = cloud::play(7, async |builder| {
//!     let cloud = builder
//!         .script(|_task| (Duration::from_secs(1), Deed::Succeed))
//!         .start();
//!     cloud.lose_next_notification();
//!     cloud.create(&["a", "b"]).await;
//!     assert!(cloud.run_until_settled(Duration::from_secs(300)).await);
//!     cloud.finish()
//! });
//! assert_eq!(report.violations, Vec::<String>::new());
//! assert_eq!(report.census.faults[&FaultKind::NotificationLost], 1);
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `builder` | how a cloud is set up |
//! | [`clock`] | clocks that are wrong |
//! | [`fault`] | what may go wrong, and how often |
//! | [`settings`] | the configuration, with the deployed defaults |
//! | [`census`] | what was played, in figures |
//! | `world`, `parts` | what all parts share: the traits of the table and of the functions, and what each part remembers |
//! | `chance` | the seeded generator that decides what goes wrong |
//! | `table`, `wire`, `memory`, `memory_wire`, `process_store` | the table, its index that lags, and the way to it |
//! | `embedded` | the table on the embedded DynamoDB, through the real SDK |
//! | `stream`, `topic`, `platform` | stream, topics, asynchronous invocations |
//! | `functions`, `invocation`, `process`, `steps`, `runner`, `script` | the deployed code, and the processes it runs in |
//! | `expiry` | DynamoDB's time to live |
//! | `ledger`, `watch` | what happened, and whether it was allowed to |

mod builder;
pub mod census;
mod chance;
pub mod clock;
mod embedded;
mod expiry;
pub mod fault;
mod functions;
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
use serde_json::{Value, json};

pub use self::builder::Builder;
pub use self::census::Census;
use self::clock::pause;
pub(crate) use self::embedded::dispatch;
use self::fault::lock;
pub use self::fault::{FaultKind, Rates};
use self::process::{Function, Life, Process};
pub use self::script::{Deed, Script};
pub use self::settings::CloudSettings;
use self::world::World;

/// When every world begins.
pub const BEGIN: Millis = Millis(1_800_000_000_000);

/// Plays one world on a paused clock, with every generator seeded, and returns what `scene`
/// returns. Needs the feature `virtual-time`.
///
/// # Panics
/// If the runtime cannot be built, and when the scene panics.
#[cfg(feature = "virtual-time")]
#[allow(clippy::expect_used, reason = "without a runtime there is no world")]
pub fn play<T>(seed: u64, scene: impl AsyncFnOnce(Builder) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    // The product draws its jitter from the thread's generator.
    fastrand::seed(seed);
    runtime.block_on(scene(Builder::new(seed)))
}

/// The outcome of a world.
#[derive(Debug)]
pub struct Report {
    /// Guarantees that were broken, the first ones first.
    pub violations: Vec<String>,
    /// What happened, a line each.
    pub trace: Vec<String>,
    /// Its figures.
    pub census: Census,
}

/// A running cloud.
pub struct Cloud {
    world: Arc<World>,
    operator: Arc<Process>,
}

impl Cloud {
    /// Creates tasks without fail, one after the other, a millisecond apart.
    pub async fn create(&self, ids: &[&str]) {
        let creator = self.creator(&self.operator);
        for id in ids {
            creator.create(&[json!({"taskId": id})]).await;
            pause(Duration::from_millis(1)).await;
        }
    }

    /// Invokes `create-tasks` with these descriptions, faults included. It is not retried.
    pub async fn invoke_create(&self, specs: &[Value]) -> Option<CreateReport> {
        let process = Arc::new(Process::start(&self.world, Function::CreateTasks));
        let creator = self.creator(&process);
        let report = tokio::select! {
            biased;
            () = process.died() => None,
            report = creator.create(specs) => Some(report),
        };
        process.end(Life::Returned);
        report
    }

    fn creator(&self, process: &Arc<Process>) -> Creator {
        let settings = CreateSettings {
            default_ttl: self.world.settings.process.default_ttl,
            max_ttl: Duration::from_secs(86_400),
            key_ttl: LONGEST_TTL,
            place: match self.world.settings.process.order {
                Order::NewestFirst => Place::Moves,
                Order::OldestFirst => Place::Stays,
            },
        };
        let store = self.world.backend.store(&self.world, process);
        Creator::new(store, Arc::new(process.clock), settings)
    }

    /// Writes a task as a foreign writer would, unchecked.
    pub fn put(&self, id: &TaskId, record: Record) {
        let world = &self.world;
        table::put(world, &self.operator, id, Some(&record));
    }

    /// Writes tasks as a foreign writer would, in one batch, repeating what came back
    /// unprocessed; whether all were written.
    pub async fn put_batch(&self, tasks: &[(TaskId, Record)]) -> bool {
        let process = Arc::new(Process::start(&self.world, Function::CreateTasks));
        let backend = &self.world.backend;
        let written = tokio::select! {
            biased;
            () = process.died() => false,
            written = backend.put_batch(&self.world, &process, tasks) => written,
        };
        process.end(Life::Returned);
        written
    }

    /// An operator's store: no faults, no delay, but watched like any other.
    #[must_use]
    pub fn operator(&self) -> Arc<dyn QueueStore> {
        self.world.backend.store(&self.world, &self.operator)
    }

    /// Publishes on ProcessTasksTopic, as an operator would.
    pub fn wake(&self) {
        let notification = Notification {
            reason: WakeReason::Operator,
            event: "operator".to_owned(),
            trace: None,
        };
        let world = &self.world;
        topic::send(world, &self.operator, Function::ProcessTasks, &notification);
    }

    /// Lets `kind` befall the `nth` call of `operation` from now on: a method of the store,
    /// `wake_processor` or `tail_call`; with the embedded DynamoDB an operation of its API.
    pub fn fail(&self, operation: &'static str, nth: u32, kind: FaultKind) {
        self.world.chance.script(operation, nth, kind);
    }

    /// The next message of either topic is lost.
    pub fn lose_next_notification(&self) {
        self.fail("notification", 1, FaultKind::NotificationLost);
    }

    /// `process-tasks` dies before its `nth` call of `operation` from now on; `run` is one too.
    pub fn kill_processor_before(&self, operation: &str, nth: u32) {
        let chance = &self.world.chance;
        chance.script(format!("before {operation}"), nth, FaultKind::KilledAtCall);
    }

    /// `process-tasks` dies after its `nth` call of `operation` from now on was carried out,
    /// before it knows.
    pub fn kill_processor_after(&self, operation: &str, nth: u32) {
        let chance = &self.world.chance;
        chance.script(format!("after {operation}"), nth, FaultKind::KilledAtCall);
    }

    /// Lets time pass.
    pub async fn run_for(&self, duration: Duration) {
        pause(duration).await;
    }

    /// Lets time pass until every task has ended and nothing is in flight, or a guarantee is
    /// broken, or `most` is over; whether every task has ended.
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

    /// A task as it is.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<Record> {
        self.world.backend.task(&TaskId::from_stored(id))
    }

    /// Every task as it is.
    #[must_use]
    pub fn tasks(&self) -> Vec<(TaskId, Record)> {
        self.world.backend.tasks()
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.world.now()
    }

    /// Invocations of `process-tasks` at this moment.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.world.platform.running(Function::ProcessTasks)
    }

    /// Ends the world, and returns its outcome. A task that has not ended is a violation.
    #[must_use]
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
        census.seconds = now.since(BEGIN).as_secs();
        for end in ledger.ends() {
            census.tasks += 1;
            *census
                .ends
                .entry(end.unwrap_or("none").to_owned())
                .or_default() += 1;
        }
        Report {
            violations: ledger.violations().to_vec(),
            trace: ledger.trace(),
            census,
        }
    }
}
