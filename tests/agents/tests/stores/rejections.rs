//! A change with one unmet condition has no effect, and the result names the step.

use std::sync::Arc;

use agent_queue::agent::{Agent, IdleStatus, Ticket};
use agent_queue::call::{Call, CallRecord, CallState};
use agent_queue::store::{AgentStore, Committed, Rejection, There};
use agent_queue::transaction::{Before, Change, Step};
use agents::*;

/// A queued agent, an agent that is not queued, a pending call, and a new call.
struct Scene {
    store: Arc<dyn AgentStore>,
    ana: Agent,
    bob: Agent,
    pending: Call,
    new: Call,
}

impl Scene {
    async fn set(store: Arc<dyn AgentStore>) -> Self {
        let ana = queued(&*store, agent("ana", &["Spanish", "English"], "M"), 3).await;
        let bob = available(&*store, agent("bob", &["French"], "F")).await;
        let pending = call("pending", "Spanish#M", 4);
        wait(&*store, &pending).await;
        Self {
            store,
            ana,
            bob,
            pending,
            new: call("new", "French#F", 5),
        }
    }

    async fn rows(&self) -> rows::Rows {
        let calls = [self.pending.id.clone(), self.new.id.clone()];
        rows::stored(&*self.store, &calls).await.unwrap()
    }

    /// Returns the match of the pending call with the queued agent. All its conditions are met.
    fn assign(&self) -> Change {
        let entry = &entries(&self.ana)[0];
        let until = Some(at(90));
        Change::assign(&self.pending, Before::Pending, entry, at(6), until).0
    }

    fn record(&self) -> CallRecord {
        CallRecord::pending(self.pending.clone())
    }

    /// Returns one step of every conditional kind, with an unmet condition.
    fn impossible(&self) -> Vec<(Step, Option<There>)> {
        let (ana, bob) = (&self.ana, &self.bob);
        let at_bob = |step| (step, Some(There::Agent(Box::new(bob.clone()))));
        let mut absent = entries(ana)[0].clone();
        absent.queue = queue("French#F");
        let record = |call: &Call| CallRecord::ended(call.clone(), CallState::Cancelled, at(6));
        let unanswered = Call {
            unanswered: 1,
            ..self.pending.clone()
        };
        let assigned = Before::Assigned(ana.ticket);
        let waits = || Some(There::Call(Box::new(self.record())));
        let mut outdated = bob.leave(IdleStatus::Offline).unwrap();
        outdated.ticket = ana.ticket;
        let there = There::Call(Box::new(self.record()));
        vec![
            at_bob(Step::NewAgent(bob.clone())),
            at_bob(Step::Agent(outdated)),
            (Step::Discard(absent), None),
            (Step::Call(Before::Pending, record(&self.new)), None),
            (Step::Call(Before::Pending, record(&unanswered)), waits()),
            (Step::Call(assigned, self.record()), waits()),
            (Step::Join(entries(ana)[0].clone()), None),
            (Step::Call(Before::New, record(&self.pending)), Some(there)),
        ]
    }
}

/// Puts each kind of unmet condition in the first, a middle and the last step of a valid change.
pub(crate) async fn one_unmet_condition_rejects_the_whole_change(store: Arc<dyn AgentStore>) {
    let scene = Scene::set(store).await;
    let before = scene.rows().await;
    for (impossible, there) in scene.impossible() {
        let others = scene.assign().steps.into_iter();
        let others: Vec<_> = others
            .filter(|step| step.key() != impossible.key())
            .collect();
        for place in [0, others.len() / 2, others.len()] {
            let mut steps = others.clone();
            steps.insert(place, impossible.clone());
            let rejection = Rejection {
                step: place,
                there: there.clone(),
            };
            let committed = scene.store.commit(&Change::of(steps)).await.unwrap();
            assert_eq!(
                committed,
                Committed::Rejected(vec![rejection]),
                "{impossible:?}"
            );
            assert_eq!(scene.rows().await, before, "{impossible:?}");
        }
    }
    // Without an unmet condition, the change succeeds.
    done(&*scene.store, &scene.assign()).await;
    assert_ne!(scene.rows().await, before);
}

pub(crate) async fn call_of_another_assignment_is_not_returned(store: Arc<dyn AgentStore>) {
    let scene = Scene::set(store).await;
    let entry = &entries(&scene.ana)[0];
    let (assign, assignment) =
        Change::assign(&scene.pending, Before::Pending, entry, at(6), Some(at(90)));
    done(&*scene.store, &assign).await;
    let returned = |by| Change::of(vec![Step::Call(Before::Assigned(by), scene.record())]);
    let committed = scene
        .store
        .commit(&returned(Ticket::fresh()))
        .await
        .unwrap();
    assert!(matches!(committed, Committed::Rejected(_)), "{committed:?}");
    done(&*scene.store, &returned(assignment.ticket)).await;
}

pub(crate) async fn every_rejection_names_its_step(store: Arc<dyn AgentStore>) {
    let scene = Scene::set(store).await;
    let mut seen = std::collections::BTreeSet::new();
    let (mut steps, mut rejections) = (vec![], vec![]);
    for (step, there) in scene.impossible() {
        // Skip the step if the transaction already has a step on the same item.
        if seen.insert(step.key()) {
            steps.push(Step::OpenQueue(queue(&format!("l{}#F", steps.len()))));
            rejections.push(Rejection {
                step: steps.len(),
                there,
            });
            steps.push(step);
        }
    }
    assert!(rejections.len() >= 5, "{rejections:?}");
    let before = scene.rows().await;
    let committed = scene.store.commit(&Change::of(steps)).await.unwrap();
    assert_eq!(committed, Committed::Rejected(rejections));
    assert_eq!(scene.rows().await, before);
}
