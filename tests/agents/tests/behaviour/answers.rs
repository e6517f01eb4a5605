//! Extended leases and unanswered assignments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agent_queue::agent::{AgentStatus, Ticket};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::{Assignment, CallState, OutboxEvent};
use agent_queue::matching::one_call::Cancel;
use agent_queue::queue::{AgentQueue, QueueError};
use agent_queue::store::{AgentStore, Committed};
use agent_queue::sweep::CLOCK_SKEW;
use agent_queue::time::{Clock, Micros};
use agent_queue::transaction::{CallLease, Change, Step};
use agents::watched::{Outcome, Watch, watched};
use agents::world::{World, pairs};
use agents::{agent_id, call_id, criteria, done};
use async_trait::async_trait;

const SECOND: Duration = Duration::from_secs(1);

/// Gives agents ten seconds to answer, and call leases 30 seconds.
fn answering(world: World) -> World {
    world.with(|settings| {
        settings.answer_within = Some(10 * SECOND);
        settings.call_lease = Some(30 * SECOND);
    })
}

async fn extend(world: &World, id: &str, call: &str, ticket: Ticket) -> Changed {
    let (id, call) = (agent_id(id), call_id(call));
    let extended = world.queue.extend(&id, &call, ticket).await;
    extended.unwrap()
}

async fn assignment(world: &World, call: &str) -> Assignment {
    match world.state_of(call).await {
        CallState::Assigned(made) => made,
        other => panic!("{call} is {other:?}"),
    }
}

/// Queues an agent, and matches a call with it.
async fn meet(world: &World) -> Assignment {
    world.queued("ana", &["Spanish"], "F").await;
    world.ask("c1", "Spanish#F").await.assignments.remove(0)
}

pub(crate) async fn an_unanswered_call_returns_to_its_place_and_is_assigned_again(world: World) {
    let world = answering(world);
    let first = meet(&world).await;
    assert_eq!(first.number, 1);
    world.ask("c2", "Spanish#F").await;
    world.pass(9 * SECOND).await;
    assert_eq!(world.sweep().await.returned, 0, "there is time left");
    world.pass(2 * SECOND).await;
    let swept = world.sweep().await;
    assert_eq!((swept.returned, swept.calls_returned), (1, 1));
    assert_eq!(world.status("ana").await, AgentStatus::Available);
    assert_eq!(world.state_of("c1").await, CallState::Pending);
    // The call keeps its position ahead of the later call, and the first agent's finish is too late.
    let late = world.finish("ana", "c1", first.ticket).await;
    assert!(matches!(late, Changed::Rejected { .. }), "{late:?}");
    assert_eq!(
        pairs(&world.queued("bea", &["Spanish"], "F").await),
        "c1→bea"
    );
    let second = assignment(&world, "c1").await;
    assert_eq!((second.number, second.agent_id.as_str()), (2, "bea"));
    assert_ne!(second.ticket, first.ticket);
    // A redelivered call returns its current assignment.
    let again = world.ask("c1", "Spanish#F").await;
    assert_eq!(again.state, CallState::Assigned(second.clone()));
    let heard = world.publisher.heard();
    assert!(heard.contains(&OutboxEvent::Assigned(first)), "{heard:?}");
    assert!(!heard.contains(&OutboxEvent::Assigned(second)));
}

/// Without a lease, an extension succeeds and changes nothing.
pub(crate) async fn a_call_without_a_lease_may_be_extended(world: World) {
    let made = meet(&world).await;
    let rows = world.rows(&["c1"]).await;
    let extended = extend(&world, "ana", "c1", made.ticket).await;
    assert!(matches!(extended, Changed::Done(_)), "{extended:?}");
    assert_eq!(world.rows(&["c1"]).await, rows);
}

pub(crate) async fn a_call_that_waited_too_long_before_its_answer_expires(world: World) {
    let world = answering(world).with(|settings| settings.max_wait = 5 * SECOND);
    let made = meet(&world).await;
    world.publish(&[made]).await;
    world.pass(11 * SECOND).await;
    let swept = world.sweep().await;
    assert_eq!((swept.calls_returned, swept.expired), (1, 1));
    assert_eq!(world.state_of("c1").await, CallState::Expired);
}

/// Extends a lease just before the first change that would end it.
struct Overtaken {
    world: Arc<World>,
    made: Assignment,
    done: AtomicBool,
}

#[async_trait]
impl Watch for Overtaken {
    async fn commit(&self, store: &dyn AgentStore, change: &Change) -> Outcome {
        let ends = |step: &Step| matches!(step, Step::Unlease(_));
        if change.steps.iter().any(ends) && !self.done.swap(true, Ordering::SeqCst) {
            let call = self.made.call_id.as_str();
            let extended = extend(&self.world, "ana", call, self.made.ticket).await;
            assert!(matches!(extended, Changed::Done(_)), "{extended:?}");
        }
        store.commit(change).await
    }
}

/// Creates a queue in which this assignment's agent answers just before its lease would end.
fn overtaken(world: &Arc<World>, made: &Assignment) -> AgentQueue {
    let watch = Overtaken {
        world: world.clone(),
        made: made.clone(),
        done: AtomicBool::new(false),
    };
    let store = watched(world.store.clone(), Arc::new(watch));
    world.queue_on(Arc::new(store), world.queue.settings().clone())
}

/// The agent answers after the sweep has read the expired lease but before the sweep's commit.
pub(crate) async fn a_lease_that_is_extended_in_time_is_not_ended_by_the_sweep(world: World) {
    let world = Arc::new(answering(world));
    let made = meet(&world).await;
    world.pass(11 * SECOND).await;
    let queue = overtaken(&world, &made);
    let swept = queue.sweep(&*world.publisher).await.unwrap();
    assert_eq!((swept.returned, swept.calls_returned), (0, 0));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    assert_eq!(assignment(&world, "c1").await, made);
    world.pass(29 * SECOND).await;
    assert_eq!(world.sweep().await.returned, 0, "the new lease is live");
    world.pass(2 * SECOND).await;
    assert_eq!(world.sweep().await.returned, 1);
}

const CANCELLED: Cancel = Cancel::Done {
    assignments: vec![],
    expired: 0,
};

/// The caller hangs up while the agent's phone rings.
pub(crate) async fn cancelled_unanswered_call_returns_its_agent_to_its_place(world: World) {
    let world = answering(world);
    let made = meet(&world).await;
    world.queued("bea", &["Spanish"], "F").await;
    let cancelled = world.queue.cancel(&call_id("c1")).await.unwrap();
    assert_eq!(cancelled, CANCELLED);
    assert_eq!(world.state_of("c1").await, CallState::Cancelled);
    assert_eq!(world.status("ana").await, AgentStatus::Queued);
    let late = extend(&world, "ana", "c1", made.ticket).await;
    assert!(matches!(late, Changed::Rejected { .. }), "{late:?}");
    let redelivered = world.ask("c1", "Spanish#F").await;
    assert_eq!(redelivered.state, CallState::Cancelled);
    let again = world.queue.cancel(&call_id("c1")).await.unwrap();
    assert_eq!(again, Cancel::Is(CallState::Cancelled));
    world.pass(11 * SECOND).await;
    let swept = world.sweep().await;
    assert_eq!((swept.returned, swept.published), (0, 0), "nothing is left");
    assert_eq!(world.ask_whom("c2", "Spanish#F").await, "ana");
    assert_eq!(world.ask_whom("c3", "Spanish#F").await, "bea");
}

pub(crate) async fn agent_of_a_cancelled_unanswered_call_gets_a_pending_call(world: World) {
    let world = answering(world);
    meet(&world).await;
    world.ask("c2", "Spanish#F").await;
    let cancelled = world.queue.cancel(&call_id("c1")).await.unwrap();
    let Cancel::Done { assignments, .. } = cancelled else {
        panic!("{cancelled:?}");
    };
    assert_eq!(pairs(&assignments), "c2→ana");
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c2"));
}

/// A lease of the previous release does not contain the agent's place.
pub(crate) async fn agent_of_a_cancelled_call_without_a_place_is_queued_last(world: World) {
    let world = answering(world);
    meet(&world).await;
    let leases = world.store.leases(None, Micros(u64::MAX), 1).await;
    let lease = CallLease {
        queued_at: None,
        ..leases.unwrap().remove(0)
    };
    done(&*world.store, &Change::of(vec![Step::Lease(lease)])).await;
    world.queued("bea", &["Spanish"], "F").await;
    let cancelled = world.queue.cancel(&call_id("c1")).await.unwrap();
    assert_eq!(cancelled, CANCELLED);
    assert_eq!(world.ask_whom("c2", "Spanish#F").await, "bea");
    assert_eq!(world.ask_whom("c3", "Spanish#F").await, "ana");
}

/// Another process's clock is half a second ahead.
pub(crate) async fn answer_within_the_clock_difference_keeps_the_call(world: World) {
    let world = answering(world);
    let made = meet(&world).await;
    world.publish(std::slice::from_ref(&made)).await;
    world
        .pass(made.lease_until.unwrap().since(world.clock.now()) + CLOCK_SKEW)
        .await;
    assert_eq!(world.sweep().await.returned, 0);
    let extended = extend(&world, "ana", "c1", made.ticket).await;
    assert!(matches!(extended, Changed::Done(_)), "{extended:?}");
    world.pass(30 * SECOND + CLOCK_SKEW).await;
    assert_eq!(world.sweep().await.returned, 0);
    world.tick().await;
    assert_eq!(world.sweep().await.returned, 1);
}

/// Rejects every change, as DynamoDB does if a hand-edited item never meets the condition.
struct Rejecting(AtomicUsize);

#[async_trait]
impl Watch for Rejecting {
    async fn commit(&self, _: &dyn AgentStore, _: &Change) -> Outcome {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Committed::Rejected(vec![]))
    }
}

pub(crate) async fn cancel_of_an_inconsistent_call_ends_with_an_error(world: World) {
    world.ask("c1", "Spanish#F").await;
    let rejecting = Arc::new(Rejecting(AtomicUsize::new(0)));
    let store = watched(world.store.clone(), rejecting.clone());
    let queue = world.queue_on(Arc::new(store), world.queue.settings().clone());
    let cancelled = queue.cancel(&call_id("c1")).await;
    assert!(matches!(cancelled, Err(QueueError::Contended { .. })));
    assert_eq!(rejecting.0.load(Ordering::SeqCst), 10);
}

/// The agent answers after the cancellation has read the agent but before its commit.
pub(crate) async fn answer_before_the_cancellation_keeps_the_call(world: World) {
    let world = Arc::new(answering(world));
    let made = meet(&world).await;
    let queue = overtaken(&world, &made);
    let cancelled = queue.cancel(&call_id("c1")).await.unwrap();
    assert_eq!(cancelled, Cancel::Is(CallState::Assigned(made)));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
}

/// The agent finished the call, and has not answered the next one. If the cancellation tried to end
/// the agent's lease, [`Overtaken`] would fail.
pub(crate) async fn finished_call_is_not_cancelled_while_its_agent_attends_the_next(world: World) {
    let world = Arc::new(answering(world));
    let made = meet(&world).await;
    let finished = world.finish("ana", "c1", made.ticket).await;
    assert!(matches!(finished, Changed::Done(_)), "{finished:?}");
    world.enqueue("ana").await;
    world.ask("c2", "Spanish#F").await;
    let queue = overtaken(&world, &made);
    let cancelled = queue.cancel(&call_id("c1")).await.unwrap();
    assert_eq!(cancelled, Cancel::Is(CallState::Assigned(made)));
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c2"));
}

/// A process that read the line before the call was assigned and returned can't assign the call,
/// because its assignment number is already used.
pub(crate) async fn outdated_line_entry_assigns_nothing(world: World) {
    let world = answering(world);
    world.ask("c1", "Spanish#F").await;
    let line = criteria("Spanish#F");
    let outdated = world.store.calls_in_line(&line, 1).await.unwrap().remove(0);
    let made = world.queued("ana", &["Spanish"], "F").await;
    world.publish(&made).await;
    world.pass(11 * SECOND).await;
    assert_eq!(world.sweep().await.calls_returned, 1);
    let ana = world.agent("ana").await;
    let now = world.call("now", "*#*").arrived;
    let (change, _) = Change::assign_available(&outdated, &ana, now, None);
    let committed = world.store.commit(&change).await.unwrap();
    assert!(matches!(committed, Committed::Rejected(_)), "{committed:?}");
    assert_eq!(world.enqueue("ana").await.assignments[0].number, 2);
}

pub(crate) async fn ended_call_is_kept_for_fifteen_days_and_a_pending_one_without_limit(
    world: World,
) {
    world.queued("ana", &["Spanish"], "F").await;
    for call in ["assigned", "cancelled", "expired", "pending"] {
        world.ask(call, "Spanish#F").await;
    }
    let now = world.call("now", "*#*").arrived;
    world.queue.cancel(&call_id("cancelled")).await.unwrap();
    let mut late = world.call("late", "Spanish#F");
    late.arrived = late.arrived.minus(6_000 * SECOND);
    world.queue.match_call(&late).await.unwrap();
    for (call, kept) in [
        ("assigned", true),
        ("cancelled", true),
        ("late", true),
        ("pending", false),
    ] {
        let record = world.queue.call(&call_id(call)).await.unwrap().unwrap();
        let days = record
            .ttl
            .map(|ttl| (ttl + 60 - now.0 / 1_000_000) / 86_400);
        assert_eq!(days, kept.then_some(15), "{call}");
    }
}
