//! Tables that were edited by hand or restored, with entries of agents that aren't queued and line
//! entries without a pending call. Also covers requests with many calls to serve or little time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_queue::agent::{AgentStatus, IdleStatus, Ticket};
use agent_queue::call::CallState;
use agent_queue::matching::lane::Batch;
use agent_queue::store::{AgentStore, Order};
use agent_queue::transaction::{Change, QueueEntry, Step};
use agents::watched::{Outcome, Watch, watched};
use agents::world::{World, pairs};
use agents::{agent_id, call_id, criteria, done, entries, queue, wait};
use async_trait::async_trait;
use tokio::time::Instant;

/// Writes a queue entry whose agent isn't queued with the entry's ticket.
async fn outlived(world: &World, agent: &str, ago: Duration) {
    let entry = QueueEntry {
        queue: queue("Spanish#F"),
        at: world.call("now", "*#*").arrived.minus(ago),
        agent: agent_id(agent),
        agent_name: agent.to_uppercase(),
        ticket: Ticket::fresh(),
        queues: vec![queue("Spanish#F"), queue("English#F")],
    };
    done(&*world.store, &Change::of(vec![Step::Join(entry)])).await;
}

/// Writes a line entry of a call that has no item.
async fn place(world: &World, id: &str, wanted: &str) {
    let call = world.call(id, wanted);
    let opened = world.store.open_line(&call.criteria, call.arrived).await;
    opened.unwrap();
    done(&*world.store, &Change::of(vec![Step::Wait(call)])).await;
    world.tick().await;
}

async fn line(world: &World, wanted: &str) -> usize {
    let calls = world.store.calls_in_line(&criteria(wanted), 100).await;
    calls.unwrap().len()
}

pub(crate) async fn page_of_outdated_entries_hides_no_agent(world: World) {
    // Some of the entries' agents are registered, and others aren't.
    world.register("g0", &["Spanish"], "F").await;
    world.available("g1", &["Spanish"], "F").await;
    for number in 0..12 {
        let ago = Duration::from_secs(60 - number);
        outlived(&world, &format!("g{number}"), ago).await;
    }
    world.queued("ana", &["Spanish"], "F").await;
    world.queued("bea", &["Spanish"], "F").await;
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "ana");
    assert_eq!(world.ask_whom("c2", "Spanish#*").await, "bea");
    let last = world.ask("c3", "Spanish#F").await;
    assert_eq!(last.state, CallState::Pending);
    let left = world.store.peek(&queue("Spanish#F"), Order::Fifo, 50).await;
    assert_eq!(left.unwrap(), [], "each was deleted");
    assert_eq!(world.depths().await, [("Spanish#F".to_owned(), 0)]);
    assert_eq!(world.status("g1").await, AgentStatus::Available);
}

pub(crate) async fn outdated_line_entry_does_not_block_the_line(world: World) {
    place(&world, "c1", "Spanish#F").await;
    world.ask("c1", "French#F").await;
    world.queue.cancel(&call_id("c1")).await.unwrap();
    world.ask("c2", "Spanish#F").await;
    let met = world.queued("ana", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c2→ana");
    place(&world, "c1", "Spanish#F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let met = world.ask("c3", "Spanish#F").await;
    assert_eq!(pairs(&met.assignments), "c3→bea");
    assert_eq!(line(&world, "Spanish#F").await, 0);
    assert_eq!(world.state_of("c1").await, CallState::Cancelled);
}

pub(crate) async fn outdated_line_entry_does_not_block_the_sweep(world: World) {
    world.ask("c1", "French#F").await;
    world.queue.cancel(&call_id("c1")).await.unwrap();
    place(&world, "c1", "Spanish#F").await;
    place(&world, "c2", "Spanish#F").await;
    world.ask("c3", "Spanish#F").await;
    world.pass(world.queue.settings().max_wait).await;
    let swept = world.sweep().await;
    assert_eq!((swept.expired, swept.dead_lettered), (2, 2), "c2 and c3");
    assert!(swept.complete);
    assert_eq!(line(&world, "Spanish#F").await, 0);
    assert_eq!(world.state_of("c1").await, CallState::Cancelled);
    assert_eq!(world.state_of("c2").await, CallState::Expired);
}

pub(crate) async fn line_entry_without_a_call_item_is_assigned(world: World) {
    place(&world, "c1", "Spanish#F").await;
    let met = world.queued("ana", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c1→ana");
    assert!(matches!(
        world.state_of("c1").await,
        CallState::Assigned(made) if made == met[0]
    ));
    assert_eq!(line(&world, "Spanish#F").await, 0);
}

pub(crate) async fn an_agent_without_one_of_its_entries_is_matched(world: World) {
    for (agent, call) in [("ana", "Spanish#F"), ("bea", "")] {
        world.queued(agent, &["English", "Spanish"], "F").await;
        let english = entries(&world.agent(agent).await)
            .into_iter()
            .find(|entry| entry.queue == queue("English#F"));
        let leave = Step::Leave(english.unwrap());
        done(&*world.store, &Change::of(vec![leave])).await;
        if call.is_empty() {
            world.leave(agent, IdleStatus::Available).await;
            assert_eq!(world.status(agent).await, AgentStatus::Available);
        } else {
            assert_eq!(world.ask_whom("c1", call).await, agent);
        }
    }
}

pub(crate) async fn sweep_restores_missing_entries_of_a_queued_agent(world: World) {
    world.queued("ana", &["English", "Spanish"], "F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let all = entries(&world.agent("ana").await).into_iter();
    done(&*world.store, &Change::of(all.map(Step::Leave))).await;
    // A call that arrives before the sweep stays pending until the sweep.
    world.ask("c1", "English#F").await;
    let swept = world.sweep().await;
    assert_eq!((swept.restored, swept.assigned), (2, 1));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    assert_eq!(world.ask_whom("c2", "Spanish#F").await, "bea");
    assert_eq!(world.sweep().await.restored, 0);
}

/// Makes the agent leave just before the first entry is written.
struct Leaves(Arc<World>);

#[async_trait]
impl Watch for Leaves {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        let joins = |step: &Step| matches!(step, Step::Join(_));
        if change.steps.iter().any(joins) {
            self.0.leave("ana", IdleStatus::Offline).await;
        }
        store.commit(change).await
    }
}

pub(crate) async fn sweep_restores_no_entry_of_an_agent_who_leaves(world: World) {
    let world = Arc::new(world);
    world.queued("ana", &["Spanish"], "F").await;
    let all = entries(&world.agent("ana").await).into_iter();
    done(&*world.store, &Change::of(all.map(Step::Leave))).await;
    let watch = Leaves(world.clone());
    let store = watched(world.store.clone(), Arc::new(watch));
    let queue = world.queue_on(Arc::new(store), world.queue.settings().clone());
    let swept = queue.sweep(&*world.publisher).await.unwrap();
    assert_eq!((swept.restored, swept.queued_agents), (0, 0));
    assert_eq!(world.depths().await, [("Spanish#F".to_owned(), 0)]);
}

pub(crate) async fn lines_are_limited_to_1000_and_empty_ones_close_after_an_hour(world: World) {
    let line = |n: usize| criteria(&format!("l{n}#F"));
    for n in 0..1_000 {
        let opened = world.store.open_line(&line(n), agents::NOW).await;
        opened.unwrap();
    }
    world.ask("known", "l7#F").await;
    let call = world.call("c1", "one-more#F");
    let error = world.queue.match_call(&call).await.unwrap_err();
    assert!(!error.is_transient());
    let text = error.to_string();
    assert!(
        text.starts_with("criteria one-more#F: pending calls already have 1000 different criteria"),
        "{text}"
    );
    let hour = Duration::from_secs(60 * 60);
    let world = world.with(|settings| settings.max_wait = 2 * hour);
    world.pass(hour - Duration::from_secs(60)).await;
    world.sweep().await;
    let left = world.store.lines().await.unwrap();
    assert_eq!(left.len(), 1_000, "a process may rely on an open line");
    world.pass(Duration::from_secs(60)).await;
    world.sweep().await;
    let left = world.store.lines().await.unwrap();
    assert_eq!(left.len(), 1, "the one that a call waits in");
    let call = world.call("c2", "one-more#F");
    assert!(world.queue.match_call(&call).await.unwrap().queued);
}

pub(crate) async fn unanswered_call_returns_to_its_line_beyond_the_limit_of_lines(world: World) {
    let world = world.with(|settings| settings.answer_within = Some(Duration::from_secs(10)));
    world.queued("ana", &["Spanish"], "F").await;
    let call = world.call("c1", "Spanish#F");
    // A lane assigns the call without putting it in a line.
    let results = world.queue.match_lane(&[call], &Batch::default()).await;
    let made = results.into_iter().flat_map(|is| is.unwrap().assignments);
    let made: Vec<_> = made.collect();
    assert_eq!(world.publish(&made).await.published, 1);
    for n in 0..1_000 {
        let line = criteria(&format!("l{n}#F"));
        world.store.open_line(&line, agents::NOW).await.unwrap();
    }
    world.pass(Duration::from_secs(11)).await;
    assert_eq!(world.sweep().await.calls_returned, 1);
    let met = world.queued("bea", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c1→bea");
}

/// Writes matching queued agents and pending calls, as crashed processes leave them: more than one
/// page of each.
async fn left_behind(world: &World, count: u64) {
    for number in 0..count {
        let id = format!("a{number}");
        let agent = agents::agent(&id, &["Spanish"], "F");
        let agent = agents::available(&*world.store, agent).await;
        agents::enqueue(&*world.store, agent, number).await;
        let call = agents::call(&format!("w{number}"), "Spanish#F", number);
        wait(&*world.store, &call).await;
    }
    world.tick().await;
}

pub(crate) async fn one_match_assigns_every_call_with_a_matching_agent(world: World) {
    left_behind(&world, 120).await;
    let matched = world.ask("c1", "Spanish#F").await;
    assert_eq!(matched.assignments.len(), 120);
    let state = (matched.state, matched.cut_short);
    assert_eq!(state, (CallState::Pending, false));
}

/// Delays each change by ten milliseconds.
struct Slow;

#[async_trait]
impl Watch for Slow {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        tokio::time::advance(Duration::from_millis(10)).await;
        store.commit(change).await
    }
}

pub(crate) async fn match_stops_at_its_deadline_and_keeps_its_assignments(world: World) {
    left_behind(&world, 40).await;
    let store = watched(world.store.clone(), Arc::new(Slow));
    let queue = world.queue_on(Arc::new(store), world.queue.settings().clone());
    let call = world.call("c1", "Spanish#F");
    let deadline = Instant::now() + Duration::from_millis(205);
    let matched = queue.until(deadline).match_call(&call).await.unwrap();
    assert!(matched.cut_short);
    let made = matched.assignments.len();
    assert!((10..=20).contains(&made), "{made}");
    for assignment in matched.assignments {
        let state = world.state_of(assignment.call_id.as_str()).await;
        assert_eq!(state, CallState::Assigned(assignment));
    }
    let again = queue.match_call(&call).await.unwrap();
    assert!(!again.cut_short);
    // A change in progress at the deadline may be committed without being reported.
    let left = 40 - made;
    assert!((left - 1..=left).contains(&again.assignments.len()));
}

/// Makes the deadline pass during the third change.
struct Late {
    deadline: Instant,
    begun: AtomicUsize,
}

#[async_trait]
impl Watch for Late {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        let result = store.commit(change).await;
        if self.begun.fetch_add(1, Ordering::Relaxed) == 2 {
            tokio::time::advance(self.deadline - Instant::now()).await;
        }
        result
    }
}

pub(crate) async fn match_begins_no_change_after_its_deadline(world: World) {
    left_behind(&world, 10).await;
    let watch = Arc::new(Late {
        deadline: Instant::now() + Duration::from_secs(1),
        begun: AtomicUsize::new(0),
    });
    let store = watched(world.store.clone(), watch.clone());
    let queue = world.queue_on(Arc::new(store), world.queue.settings().clone());
    let call = world.call("c1", "Spanish#F");
    let matched = queue.until(watch.deadline).match_call(&call).await.unwrap();
    assert!(matched.cut_short);
    assert_eq!(watch.begun.load(Ordering::Relaxed), 3);
}
