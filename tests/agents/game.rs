//! Runs processes with conflicting transactions, and checks the final state of each run.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use agent_queue::name::CallId;
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::AgentStore;
use agent_queue::time::TokioClock;
use simulator::seeds::Seeds;
use tokio::runtime::Builder;

use crate::contended::{Contended, Seen};
use crate::watched::watched;
use crate::{NOW, memory, rows, tally};

pub const LANGUAGES: [&str; 3] = ["English", "French", "Spanish"];
pub const GENDERS: [&str; 2] = ["F", "M"];

/// The store, the clock, the settings and the watch of one run.
pub struct Game {
    pub store: Arc<dyn AgentStore>,
    pub clock: Arc<TokioClock>,
    pub settings: Settings,
    watch: Arc<Contended>,
}

impl Game {
    pub fn new(watch: Contended, settings: Settings) -> Self {
        Self {
            store: memory(),
            clock: Arc::new(TokioClock::starting_at(NOW)),
            settings,
            watch: Arc::new(watch),
        }
    }

    /// Creates a process's queue. Its transactions conflict with those of other processes.
    pub fn process(&self) -> AgentQueue {
        self.process_on(Arc::new(watched(self.store.clone(), self.watch.clone())))
    }

    pub fn process_on(&self, store: Arc<dyn AgentStore>) -> AgentQueue {
        AgentQueue::new(store, self.clock.clone(), self.settings.clone())
    }

    /// Checks the final state of a run with these calls.
    pub async fn check(&self, calls: &[CallId]) -> Seen {
        let seen = self.watch.seen();
        assert_eq!(seen.violations, [""; 0]);
        let rows = rows::stored(&*self.store, calls).await;
        let checked = tally::check(&rows.expect("a result"));
        assert_eq!(checked, Ok(()));
        let tickets = seen.assignments.iter().map(|made| made.ticket.to_string());
        let tickets: BTreeSet<_> = tickets.collect();
        assert_eq!(tickets.len(), seen.assignments.len(), "one stay, one call");
        // Each process writes its agent or call before it reads, so no pending call has a matching
        // queued agent.
        for line in self.store.pending().await.expect("a result") {
            for queue in self.store.queues().await.expect("a result") {
                let pair = line.depth > 0 && queue.depth > 0 && line.criteria.fits(&queue.queue);
                assert!(!pair, "{line:?} not assigned, though {queue:?} matches");
            }
        }
        seen
    }
}

/// Plays each seed in the range, or the seeds that [`Seeds`] selects instead, in virtual time.
/// Prints the counts.
#[allow(clippy::print_stdout, reason = "the counts are the tests' output")]
pub fn play_all(seeds: Range<u64>, play: impl AsyncFn(u64) -> Seen) {
    let Seeds { range, usual } = Seeds::of(seeds);
    let count = range.end - range.start;
    let (mut commits, mut conflicts, mut assignments) = (0, 0, 0);
    for seed in range {
        let run = || {
            let mut runtime = Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true);
            let runtime = runtime.build().expect("a runtime");
            // This seed also determines the jitter of retried changes.
            fastrand::seed(seed);
            runtime.block_on(play(seed))
        };
        let seen = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            panic!(
                "seed {seed}; play it again: FRESHQ_SEED={seed} make test-rust F='package(agents)'"
            )
        });
        commits += seen.commits;
        conflicts += seen.conflicts;
        assignments += seen.assignments.len();
    }
    println!("{count} games, {commits} changes, {conflicts} conflicts, {assignments} assignments");
    assert!(
        !usual || (conflicts > count && assignments > 0),
        "too few conflicts, or no assignments"
    );
}
