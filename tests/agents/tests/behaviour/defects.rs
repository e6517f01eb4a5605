//! Checks that the measured defects of the published filtered sample are absent, one per test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::agent::IdleStatus;
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::{Call, CallState};
use agent_queue::matching::lane::Batch;
use agent_queue::queue::{AgentQueue, Patience, QueueError};
use agent_queue::store::{AgentStore, Committed};
use agent_queue::sweep::CLOCK_SKEW;
use agent_queue::transaction::Change;
use agents::watched::{Outcome, Read, Watch, watched};
use agents::world::{World, pairs};
use agents::{agent_id, call_id, criteria, done, queue};
use async_trait::async_trait;
use futures::future::join_all;
use uuid::Uuid;

/// Simulates a number of conflicts with another transaction on the same items.
#[derive(Default)]
struct Others {
    conflicts: AtomicU32,
    tokens: Mutex<Vec<Uuid>>,
}

#[async_trait]
impl Watch for Others {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        self.tokens.lock().unwrap().push(change.token);
        let left = self.conflicts.load(Ordering::SeqCst);
        if left > 0 {
            self.conflicts.store(left - 1, Ordering::SeqCst);
            return Ok(Committed::Conflict);
        }
        store.commit(change).await
    }
}

/// Creates a queue behind a watch. The queue retries without a pause, because the clock is fixed.
fn behind<W: Watch + 'static>(world: &World, watch: &Arc<W>) -> AgentQueue {
    let mut settings = world.queue.settings().clone();
    settings.patience = Patience {
        repeats: 30,
        shortest: Duration::ZERO,
        longest: Duration::ZERO,
        failures: 30,
        slowest: Duration::ZERO,
    };
    let store = watched(world.store.clone(), watch.clone());
    world.queue_on(Arc::new(store), settings)
}

pub(crate) async fn match_is_retried_after_a_conflict(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let others = Arc::new(Others::default());
    let queue = behind(&world, &others);
    others.conflicts.store(7, Ordering::SeqCst);
    let matched = queue.match_call(&world.call("c1", "Spanish#F")).await;
    assert_eq!(
        pairs(&matched.unwrap().assignments),
        "c1→ana",
        "the same head again"
    );
    let counted = queue.counted();
    assert_eq!((counted.conflicts, counted.lost_matches), (7, 0));
    // The call joined its line on the eighth try and was assigned on the ninth.
    assert_eq!(others.tokens.lock().unwrap().len(), 9);
}

pub(crate) async fn repeated_conflicts_end_in_a_retryable_error(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let others = Arc::new(Others::default());
    let queue = behind(&world, &others);
    let tries = queue.settings().patience.repeats + 1;
    let conflicts = u32::try_from(tries).unwrap();
    others.conflicts.store(conflicts, Ordering::SeqCst);
    let call = world.call("c1", "Spanish#F");
    let opened = world.store.open_line(&call.criteria, call.arrived).await;
    opened.unwrap();
    let before = world.rows(&["c1"]).await;
    let error = queue.match_call(&call).await.unwrap_err();
    assert!(matches!(error, QueueError::Contended { tries: t, .. } if t == tries));
    assert!(error.is_transient());
    assert_eq!(world.rows(&["c1"]).await, before);
    let again = queue.match_call(&call).await.unwrap();
    assert_eq!(pairs(&again.assignments), "c1→ana");
}

/// After each read of a queue, another agent joins and leaves the queue, which increases its version.
struct Busy {
    store: Arc<dyn AgentStore>,
    moved: AtomicU32,
}

#[async_trait]
impl Watch for Busy {
    async fn after(&self, read: &Read) {
        if let Read::Peek(..) = read {
            let number = self.moved.fetch_add(1, Ordering::SeqCst);
            let other = agents::agent(&format!("other{number}"), &["Spanish"], "F");
            let other = agents::queued(&*self.store, other, 9_000_000).await;
            let left = other.leave(IdleStatus::Offline).unwrap();
            done(&*self.store, &Change::leave(left, &other)).await;
        }
    }
}

/// A match depends only on its agent, not on changes to the queue after the read.
pub(crate) async fn queue_version_changes_do_not_block_matches(world: World) {
    for agent in ["ana", "bea", "cleo"] {
        world.queued(agent, &["Spanish"], "F").await;
    }
    let busy = Arc::new(Busy {
        store: world.store.clone(),
        moved: AtomicU32::new(0),
    });
    let queue = behind(&world, &busy);
    for (call, met) in [("c1", "c1→ana"), ("c2", "c2→bea"), ("c3", "c3→cleo")] {
        let matched = queue.match_call(&world.call(call, "Spanish#F")).await;
        assert_eq!(pairs(&matched.unwrap().assignments), met);
    }
    let counted = queue.counted();
    assert_eq!((counted.conflicts, counted.lost_matches), (0, 0));
    assert_eq!(busy.moved.load(Ordering::SeqCst), 3, "one read each");
    let counters = &world.queue.queues().await.unwrap()[0];
    assert_eq!((counters.version, counters.depth), (3 + 3 + 2 * 3, 0));
}

/// Records the reads and counts the commits.
#[derive(Default)]
struct Log {
    reads: Mutex<Vec<Read>>,
    commits: AtomicU32,
}

#[async_trait]
impl Watch for Log {
    async fn before(&self, read: &Read) {
        self.reads.lock().unwrap().push(read.clone());
    }

    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        self.commits.fetch_add(1, Ordering::SeqCst);
        store.commit(change).await
    }
}

/// A match takes two reads, one transaction and a few items, with 60 queued agents or one.
pub(crate) async fn match_reads_one_page_for_any_queue_length(world: World) {
    for n in 0..60 {
        world.queued(&format!("a{n:02}"), &["Spanish"], "F").await;
    }
    let log = Arc::new(Log::default());
    let watched = behind(&world, &log);
    let page = watched.settings().page;
    assert!(page <= 10, "{page}");
    let lane = async |call: Call| {
        let results = watched.match_lane(&[call], &Batch::default()).await;
        let matched = results.into_iter().next().unwrap().unwrap();
        let reads = std::mem::take(&mut *log.reads.lock().unwrap());
        (pairs(&matched.assignments), reads)
    };
    let line = |wanted| Read::CallsInLine(criteria(wanted), 1);
    // A lane reads one entry per call, plus ten more.
    let (made, reads) = lane(world.call("c1", "Spanish#F")).await;
    assert_eq!(made, "c1→a00");
    assert_eq!(
        reads,
        [Read::Peek(queue("Spanish#F"), 11), line("Spanish#F")]
    );
    assert_eq!(log.commits.load(Ordering::SeqCst), 1);

    // A wildcard call reads the queue names and the same number of entries per matching queue.
    let (made, reads) = lane(world.call("c2", "*#F")).await;
    assert_eq!(made, "c2→a01");
    let peek = Read::Peek(queue("Spanish#F"), 11);
    assert_eq!(reads.len(), 3, "{reads:?}");
    for read in [Read::Other("queues"), peek, line("*#F")] {
        assert!(reads.contains(&read), "{reads:?}");
    }
    assert_eq!(log.commits.load(Ordering::SeqCst), 2);
}

pub(crate) async fn concurrent_enqueues_of_one_agent_give_one_caller_the_agent(world: World) {
    for round in 0..10 {
        let agent = format!("a{round}");
        world.available(&agent, &["Spanish", "English"], "F").await;
        let id = agent_id(&agent);
        let wishes = (0..4).map(|_| world.queue.enqueue(&id));
        let wishes = join_all(wishes).await.into_iter().map(Result::unwrap);
        let queued = wishes.filter(|wish| matches!(wish.changed, Changed::Done(_)));
        assert_eq!(queued.count(), 1, "{agent} is queued once");
        let depths = world.depths().await;
        assert!(depths.iter().all(|(_, depth)| *depth == 1), "{depths:?}");
        let calls = [format!("c{round}"), format!("d{round}")];
        let ask = calls.each_ref().map(|call| world.ask(call, "Spanish#F"));
        let results = join_all(ask).await;
        let assigned = results
            .iter()
            .filter(|matched| matches!(matched.state, CallState::Assigned(_)));
        assert_eq!(assigned.count(), 1, "{results:?}");
        for call in &calls {
            world.queue.cancel(&call_id(call)).await.unwrap();
        }
    }
}

/// Without a finish, the sweep makes the agent available, and the agent can be queued again.
pub(crate) async fn expired_call_lease_lets_the_agent_be_queued_again(world: World) {
    let lease = Duration::from_secs(600);
    let world = world.with(|settings| settings.call_lease = Some(lease));
    world.queued("ana", &["Spanish"], "F").await;
    world.ask("c1", "Spanish#F").await;
    world.pass(lease + CLOCK_SKEW).await;
    assert_eq!(world.sweep().await.returned, 1);
    world.enqueue("ana").await;
    assert_eq!(world.ask_whom("c2", "Spanish#F").await, "ana");

    let world = world.with(|settings| settings.call_lease = None);
    world.queued("bea", &["Spanish"], "F").await;
    world.ask("c3", "Spanish#F").await;
    world.pass(1_000 * lease).await;
    assert_eq!(world.sweep().await.returned, 1, "ana, and not bea");
    assert_eq!(world.in_call("bea").await.as_deref(), Some("c3"));
}
