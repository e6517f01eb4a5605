//! Agent states, the conditions of their transitions, and the list of agents.

use std::sync::Arc;

use agent_queue::agent::{Agent, AgentChange, AgentState, AgentStatus, IdleStatus, InCall, Ticket};
use agent_queue::store::{AgentStore, Committed, Rejection, There};
use agent_queue::transaction::{Change, Step};
use agents::*;

fn rejected(there: Option<&Agent>) -> Committed {
    let there = there.cloned().map(Box::new).map(There::Agent);
    Committed::Rejected(vec![Rejection { step: 0, there }])
}

async fn stored(store: &dyn AgentStore, agent: &Agent) -> Agent {
    store.agent(&agent.id).await.unwrap().unwrap()
}

pub(crate) async fn a_new_agent_is_stored_whole_and_only_once(store: Arc<dyn AgentStore>) {
    let mut ana = agent("ana", &["Spanish", "English"], "F");
    ana.name = "Ana Ruiz \"ü\" 李".to_owned();
    assert_eq!(store.agent(&ana.id).await.unwrap(), None);
    register(&*store, &ana).await;
    assert_eq!(stored(&*store, &ana).await, ana);

    let other = agent("ana", &["French"], "M");
    let again = Change::register(other, vec![queue("French#M")]);
    assert_eq!(store.commit(&again).await.unwrap(), rejected(Some(&ana)));
    assert_eq!(stored(&*store, &ana).await, ana);
    let names: Vec<_> = store.queues().await.unwrap();
    let names: Vec<_> = names.iter().map(|is| is.queue.as_str()).collect();
    assert_eq!(names, ["Q#English#F", "Q#Spanish#F"], "and no queue of it");
}

/// Visits every state. Attributes of one state are absent in the next.
pub(crate) async fn every_agent_state_is_stored_completely(store: Arc<dyn AgentStore>) {
    let store = &*store;
    let mut ana = queued(store, agent("ana", &["Spanish", "English"], "F"), 7).await;
    assert_eq!(stored(store, &ana).await, ana);
    let met = |until| AgentState::AttendingCall {
        call: call_id("c1"),
        until,
        answered: true,
    };
    let unanswered = AgentState::AttendingCall {
        call: call_id("c1"),
        until: Some(at(91)),
        answered: false,
    };
    let attending = [met(Some(at(90))), unanswered, met(None)];
    let rest = [
        AgentState::Available { since: at(9) },
        AgentState::Offline,
        AgentState::Available { since: at(0) },
    ];
    let other = ("Ana B.".to_owned(), profile(&["French"], "M"));
    let renamed = [None, Some(other), None];
    let mut profiles = renamed.into_iter();
    for to in attending.into_iter().chain(rest) {
        let change = AgentChange {
            agent: ana.id.clone(),
            from: ana.state.status(),
            ticket: ana.ticket,
            in_call: None,
            to,
            fresh_ticket: Some(Ticket::fresh()),
            profile: profiles.next().flatten(),
        };
        done(store, &Change::agent(change.clone(), None)).await;
        ana = change.applied_to(ana);
        assert_eq!(stored(store, &ana).await, ana);
    }
}

pub(crate) async fn transition_requires_its_status_ticket_and_call(store: Arc<dyn AgentStore>) {
    let store = &*store;
    let ana = available(store, agent("ana", &["Spanish"], "F")).await;
    let leave = ana.leave(IdleStatus::Offline).unwrap();
    let wrong = [
        AgentChange {
            from: AgentStatus::Queued,
            ..leave.clone()
        },
        AgentChange {
            ticket: Ticket::fresh(),
            ..leave.clone()
        },
        AgentChange {
            in_call: Some(InCall {
                call: call_id("c1"),
                until: None,
            }),
            ..leave.clone()
        },
    ];
    for change in wrong {
        let change = Change::agent(change, None);
        assert_eq!(store.commit(&change).await.unwrap(), rejected(Some(&ana)));
    }
    let unknown = AgentChange {
        agent: agent_id("unknown"),
        ..leave.clone()
    };
    let unknown = store.commit(&Change::agent(unknown, None)).await.unwrap();
    assert_eq!(unknown, rejected(None), "there is none to show");
    assert_eq!(stored(store, &ana).await, ana);

    let in_call = AgentChange {
        to: AgentState::AttendingCall {
            call: call_id("c1"),
            until: Some(at(90)),
            answered: true,
        },
        ..leave
    };
    done(store, &Change::agent(in_call.clone(), None)).await;
    let ana = in_call.applied_to(ana);
    let mut late = ana.finish(&call_id("c1"), ana.ticket, at(5)).unwrap();
    let own = late.in_call.take().unwrap();
    let wrong = [
        ("c0", own.until),
        ("c1", None),
        ("c1", Some(at(89))),
        ("c1", Some(at(91))),
    ];
    for (call, until) in wrong {
        late.in_call = Some(InCall {
            call: call_id(call),
            until,
        });
        let late = Change::agent(late.clone(), None);
        let late = store.commit(&late).await.unwrap();
        assert_eq!(late, rejected(Some(&ana)), "{call} until {until:?}");
    }
    let finish = ana.finish(&call_id("c1"), ana.ticket, at(5)).unwrap();
    done(store, &Change::of(vec![Step::Agent(finish.clone())])).await;
    assert_eq!(stored(store, &ana).await, finish.applied_to(ana));
}

pub(crate) async fn agents_are_listed_by_id_page_by_page(store: Arc<dyn AgentStore>) {
    let empty = store.agents(None, 10).await.unwrap();
    assert_eq!((empty.agents.len(), empty.next), (0, None));
    let mut all = vec![];
    for id in ["d", "B", "c-1", "a.9", "c", "E_2"] {
        let one = agent(id, &["Spanish"], "F");
        register(&*store, &one).await;
        all.push(one);
    }
    all.sort_by(|one, next| one.id.cmp(&next.id));
    for limit in [1, 2, 3, 6, 7] {
        let mut page = store.agents(None, limit).await.unwrap();
        let (mut seen, mut pages) = (vec![], 1);
        loop {
            assert!(page.agents.len() <= usize::from(limit));
            seen.extend(page.agents);
            let Some(after) = page.next else { break };
            page = store.agents(Some(&after), limit).await.unwrap();
            pages += 1;
        }
        assert_eq!(seen, all, "pages of {limit}");
        assert!(pages <= 7, "{pages} pages of {limit}");
    }
    let after = agent_id("bz");
    let rest = store.agents(Some(&after), 10).await.unwrap();
    let ids: Vec<_> = rest.agents.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["c", "c-1", "d"], "after an id of no agent");
}
