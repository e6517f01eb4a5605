//! A queue on a store, a fixed clock, and a recording publisher.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::agent::{Agent, AgentState, AgentStatus, IdleStatus, Ticket};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::{Assignment, Call, CallState, OutboxEvent};
use agent_queue::enqueue::Enqueued;
use agent_queue::matching::one_call::Matched;
use agent_queue::name::CallId;
use agent_queue::profile::Profile;
use agent_queue::publish::{PublishError, Published, Publisher};
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::AgentStore;
use agent_queue::sweep::SweepReport;
use agent_queue::time::{Clock, TokioClock};
use async_trait::async_trait;
use simulator::sync::lock;

use crate::{NOW, agent_id, call_id, criteria, profile, rows};

/// Records published events, and fails for chosen calls.
#[derive(Default)]
pub struct Recorder {
    events: Mutex<Vec<OutboxEvent>>,
    deaf_to: Mutex<Option<BTreeSet<CallId>>>,
}

impl Recorder {
    pub fn fail(&self) {
        *lock(&self.deaf_to) = None;
    }

    /// Fails for these calls only.
    pub fn fail_for(&self, calls: &[&str]) {
        *lock(&self.deaf_to) = Some(calls.iter().map(|id| call_id(id)).collect());
    }

    /// Returns the events published since this method was last called.
    pub fn heard(&self) -> Vec<OutboxEvent> {
        std::mem::take(&mut *lock(&self.events))
    }
}

#[async_trait]
impl Publisher for Recorder {
    async fn publish(&self, events: &[OutboxEvent]) -> Vec<Result<(), PublishError>> {
        let deaf_to = lock(&self.deaf_to).clone();
        let one = |event: &OutboxEvent| {
            let call = event.call_id();
            if deaf_to.as_ref().is_none_or(|calls| calls.contains(call)) {
                return Err(PublishError {
                    call: call.to_string(),
                    reason: "deaf".to_owned(),
                });
            }
            lock(&self.events).push(event.clone());
            Ok(())
        };
        events.iter().map(one).collect()
    }
}

/// Registers an agent, makes it available and queues it.
pub async fn join(queue: &AgentQueue, id: &str, profile: &Profile) {
    let id = agent_id(id);
    queue.register(&id, "Ana", profile).await.expect("a result");
    queue.become_available(&id).await.expect("a result");
    queue.enqueue(&id).await.expect("a result");
}

/// A queue with all its dependencies. Time passes only through [`World::pass`].
pub struct World {
    pub store: Arc<dyn AgentStore>,
    /// The clock, which starts at [`NOW`].
    pub clock: Arc<TokioClock>,
    pub publisher: Arc<Recorder>,
    pub queue: Arc<AgentQueue>,
}

impl World {
    /// Creates a world on a store. Requires tokio's paused clock.
    pub fn on(store: Arc<dyn AgentStore>) -> Self {
        let clock = Arc::new(TokioClock::starting_at(NOW));
        let publisher = Arc::new(Recorder::default());
        publisher.fail_for(&[]);
        let settings = Settings::default();
        Self {
            queue: Arc::new(AgentQueue::new(store.clone(), clock.clone(), settings)),
            store,
            clock,
            publisher,
        }
    }

    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = self.queue.settings().clone();
        set(&mut settings);
        self.queue = Arc::new(self.queue_on(self.store.clone(), settings));
        self
    }

    pub fn queue_on(&self, store: Arc<dyn AgentStore>, settings: Settings) -> AgentQueue {
        AgentQueue::new(store, self.clock.clone(), settings)
    }

    pub async fn pass(&self, duration: Duration) {
        tokio::time::advance(duration).await;
    }

    pub async fn tick(&self) {
        self.pass(Duration::from_millis(1)).await;
    }

    /// Registers an offline agent.
    pub async fn register(&self, id: &str, languages: &[&str], gender: &str) {
        let (name, profile) = (id.to_uppercase(), profile(languages, gender));
        let registered = self.queue.register(&agent_id(id), &name, &profile).await;
        assert!(matches!(registered.expect("a result"), Changed::Done(_)));
    }

    /// Registers an agent and makes it available.
    pub async fn available(&self, id: &str, languages: &[&str], gender: &str) {
        self.register(id, languages, gender).await;
        let available = self.queue.become_available(&agent_id(id)).await;
        assert!(matches!(available.expect("a result"), Changed::Done(_)));
        self.tick().await;
    }

    /// Registers an agent, makes it available and queues it.
    pub async fn queued(&self, id: &str, languages: &[&str], gender: &str) -> Vec<Assignment> {
        self.available(id, languages, gender).await;
        self.enqueue(id).await.assignments
    }

    /// Queues an agent, then advances the clock by one millisecond.
    pub async fn enqueue(&self, id: &str) -> Enqueued {
        let enqueued = self.queue.enqueue(&agent_id(id)).await.expect("a result");
        assert!(matches!(enqueued.changed, Changed::Done(_)), "{enqueued:?}");
        self.tick().await;
        enqueued
    }

    pub fn call(&self, id: &str, wanted: &str) -> Call {
        Call::new(call_id(id), criteria(wanted), self.clock.now())
    }

    /// Matches a new call, then advances the clock by one millisecond.
    pub async fn ask(&self, id: &str, wanted: &str) -> Matched {
        let call = self.call(id, wanted);
        let matched = self.queue.match_call(&call).await.expect("a result");
        self.tick().await;
        matched
    }

    /// Matches a new call, which must be assigned immediately. Returns the agent.
    pub async fn ask_whom(&self, id: &str, wanted: &str) -> String {
        let matched = self.ask(id, wanted).await;
        let CallState::Assigned(assignment) = matched.state else {
            panic!("{id} is not assigned: {matched:?}");
        };
        assignment.agent_id.to_string()
    }

    /// Finishes a call.
    pub async fn finish(&self, id: &str, call: &str, ticket: Ticket) -> Changed {
        let (id, call) = (agent_id(id), call_id(call));
        let finished = self.queue.finish(&id, &call, ticket).await;
        finished.expect("a result")
    }

    /// Removes an agent from its queues.
    pub async fn leave(&self, id: &str, rest: IdleStatus) -> Changed {
        let left = self.queue.leave(&agent_id(id), rest).await;
        left.expect("a result")
    }

    /// Publishes assignments, if the topic works.
    pub async fn publish(&self, made: &[Assignment]) -> Published {
        let published = self.queue.publish_assignments(&*self.publisher, made);
        published.await.expect("a result")
    }

    /// Returns the stored agent.
    pub async fn agent(&self, id: &str) -> Agent {
        let agent = self.store.agent(&agent_id(id)).await.expect("a result");
        agent.expect("the agent is there")
    }

    pub async fn status(&self, id: &str) -> AgentStatus {
        self.agent(id).await.state.status()
    }

    pub async fn in_call(&self, id: &str) -> Option<String> {
        match self.agent(id).await.state {
            AgentState::AttendingCall { call, .. } => Some(call.to_string()),
            _ => None,
        }
    }

    /// Returns the state of a call.
    pub async fn state_of(&self, call: &str) -> CallState {
        let record = self.queue.call(&call_id(call)).await.expect("a result");
        record.expect("the call is there").state
    }

    /// Returns the depth of each queue, labeled with the queue's values.
    pub async fn depths(&self) -> Vec<(String, u64)> {
        let queues = self.queue.queues().await.expect("a result").into_iter();
        let plain = queues.map(|is| (is.queue.to_string().replacen("Q#", "", 1), is.depth));
        plain.collect()
    }

    /// Runs one sweep.
    pub async fn sweep(&self) -> SweepReport {
        self.queue.sweep(&*self.publisher).await.expect("a result")
    }

    /// Returns the entire content of the store, except that only the given calls are read.
    pub async fn rows(&self, calls: &[&str]) -> rows::Rows {
        let calls: Vec<_> = calls.iter().map(|id| call_id(id)).collect();
        rows::stored(&*self.store, &calls).await.expect("a result")
    }
}

/// Formats the assigned calls with their agents, such as `c1→ana c2→bob`.
pub fn pairs(assignments: &[Assignment]) -> String {
    let pair = |made: &Assignment| format!("{}→{}", made.call_id, made.agent_id);
    let pairs: Vec<_> = assignments.iter().map(pair).collect();
    pairs.join(" ")
}
