use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;
use crate::criteria::Criteria;
use crate::dimension::Dimensions;
use crate::name::{AgentId, CallId};

fn queued(languages: usize) -> (Agent, QueueEntry) {
    let names: Vec<_> = (0..languages).map(|n| format!("l{n}")).collect();
    let attributes = json!({"language": names, "gender": "F"});
    let attributes: BTreeMap<_, _> = serde_json::from_value(attributes).unwrap();
    let dimensions = Dimensions::default();
    let profile = dimensions.profile(&attributes).unwrap();
    let mut agent = Agent::new(AgentId::new("ana").unwrap(), "Ana".to_owned(), profile);
    let queues = dimensions.queues(&agent.profile);
    agent.state = AgentState::Queued {
        since: Micros(1),
        at: Micros(2),
        queues: queues.clone(),
    };
    let entry = QueueEntry {
        queue: queues[0].clone(),
        at: Micros(2),
        agent: agent.id.clone(),
        agent_name: agent.name.clone(),
        ticket: agent.ticket,
        queues,
    };
    (agent, entry)
}

fn call() -> Call {
    Call {
        id: CallId::new("c1").unwrap(),
        criteria: Criteria::from_stored("l0#F"),
        arrived: Micros(3),
        sequence: 7,
        unanswered: 0,
    }
}

fn keys(change: &Change) -> BTreeSet<Key> {
    change.steps.iter().map(Step::key).collect()
}

#[test]
fn no_change_has_two_steps_on_one_item() {
    let (agent, entry) = queued(3);
    let leave = Change::leave(
        agent.leave(crate::agent::IdleStatus::Offline).unwrap(),
        &agent,
    );
    let until = Some(Micros(9));
    let (assign, _) = Change::assign(&call(), Before::New, &entry, Micros(4), until);
    let (again, _) = Change::assign(&call(), Before::Pending, &entry, Micros(4), until);
    let expire = Change::expire(&call(), Before::Pending, Micros(4));
    for change in [leave, assign, again, expire, Change::wait(&call())] {
        assert_eq!(keys(&change).len(), change.steps.len(), "{change:?}");
    }
}

/// All processes of this release and of the next one must find an item on the same stripe.
#[test]
fn stripe_is_derived_from_the_id() {
    let stripes = ["ana", "bob", "c1", ""].map(stripe_of);
    assert_eq!(stripes, [5, 4, 9, 5]);
    let all: BTreeSet<_> = (0..200).map(|n| stripe_of(&format!("call-{n}"))).collect();
    assert!(all.into_iter().eq(0..crate::schema::STRIPES));
}

/// Matches of different agents and calls must never conflict, so they must not share an item.
#[test]
fn two_matches_share_no_item() {
    let (mut other, mut another) = (queued(3).1, call());
    other.agent = AgentId::new("bob").unwrap();
    another.id = CallId::new("c2").unwrap();
    let until = Some(Micros(9));
    for before in [Before::New, Before::Pending] {
        let (one, _) = Change::assign(&call(), before, &queued(3).1, Micros(4), until);
        let (two, _) = Change::assign(&another, before, &other, Micros(4), until);
        assert!(keys(&one).is_disjoint(&keys(&two)), "{one:?} {two:?}");
    }
}

#[test]
fn keys_match_the_published_schema() {
    let (_, entry) = queued(1);
    let key = |step: Step| {
        let (pk, sk) = step.key();
        format!("{pk} / {sk}")
    };
    assert_eq!(
        key(Step::OpenQueue(entry.queue.clone())),
        "AllQueues / Q#l0#F"
    );
    assert_eq!(
        key(Step::Join(entry)),
        "Q#l0#F / 1970-01-01T00:00:00.000002Z#ana"
    );
    assert_eq!(
        key(Step::Wait(call())),
        "C#l0#F / 1970-01-01T00:00:00.000003Z#000000000000000000000000000000000000007#c1"
    );
    let line = line_key(&Criteria::from_stored("*#F"));
    assert_eq!(line, ("AllCriteria".to_owned(), "C#*#F".to_owned()));
    assert_eq!(agent_key(&AgentId::new("ana").unwrap()).1, "Agent#ana");
    assert_eq!(call_key(&CallId::new("c1").unwrap()).0, "Call#c1");
}
