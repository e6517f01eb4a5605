use std::collections::BTreeSet;

use super::*;
use crate::name::Value;

const AT: Micros = Micros(7);

fn agent(state: AgentState) -> Agent {
    let several = BTreeSet::from([Value::new("Spanish").unwrap()]);
    let profile = Profile::new(several, vec![Value::new("M").unwrap()]);
    let id = AgentId::new("ana").unwrap();
    Agent {
        state,
        ..Agent::new(id, "Ana".to_owned(), profile)
    }
}

fn states() -> [AgentState; 4] {
    [
        AgentState::Offline,
        AgentState::Available { since: Micros(1) },
        AgentState::Queued {
            since: Micros(1),
            at: Micros(2),
            queues: vec![],
        },
        AgentState::AttendingCall {
            call: CallId::new("c1").unwrap(),
            until: None,
        },
    ]
}

/// An arrow, by its name, as a function of the agent.
type Arrow = fn(&Agent) -> Result<AgentChange, NotPossible>;

/// The whole table of the module's documentation: which arrow leads where from each state.
#[test]
fn only_the_table_s_arrows_exist() {
    use AgentStatus::{AttendingCall, Available, Offline, Queued};
    let arrows: [(Arrow, [Option<AgentStatus>; 4]); 6] = [
        (
            |a| a.become_available(AT),
            [Some(Available), None, None, None],
        ),
        (
            |a| a.enqueue(AT, &Dimensions::default()),
            [None, Some(Queued), None, None],
        ),
        (
            |a| a.leave(Rest::Available),
            [None, None, Some(Available), None],
        ),
        (
            |a| a.leave(Rest::Offline),
            [None, Some(Offline), Some(Offline), None],
        ),
        (
            |a| a.finish(&CallId::new("c1").unwrap(), a.ticket, AT),
            [None, None, None, Some(Available)],
        ),
        (
            |a| a.with_profile("B".to_owned(), a.profile.clone()),
            [Some(Offline), Some(Available), None, Some(AttendingCall)],
        ),
    ];
    for (number, (arrow, targets)) in arrows.into_iter().enumerate() {
        for (state, target) in std::iter::zip(states(), targets) {
            let agent = agent(state);
            let change = arrow(&agent);
            assert_eq!(
                change.as_ref().ok().map(|change| change.to.status()),
                target,
                "arrow {number} from {}",
                agent.state.status()
            );
            if let Ok(change) = change {
                assert!(change.is_met_by(&agent));
                assert_eq!(
                    (change.from, change.ticket),
                    (agent.state.status(), agent.ticket)
                );
            }
        }
    }
}

#[test]
fn a_late_finish_never_frees_an_agent_who_is_in_a_new_call() {
    let agent = agent(states()[3].clone());
    let other = CallId::new("c2").unwrap();
    assert_eq!(
        agent.finish(&other, agent.ticket, AT),
        Err(NotPossible::OtherCall)
    );
    let call = CallId::new("c1").unwrap();
    let late = agent.finish(&call, Ticket::fresh(), AT);
    assert_eq!(late, Err(NotPossible::OtherCall));
    // And one that was right when it was decided upon, but is not any more when it is written.
    let change = agent.finish(&call, agent.ticket, AT).unwrap();
    let state = AgentState::AttendingCall {
        call: other,
        until: None,
    };
    assert!(!change.is_met_by(&Agent { state, ..agent }));
}

#[test]
fn a_stay_and_a_profile_have_tickets_of_their_own_but_a_call_keeps_its() {
    let [offline, available, _, attending] = states().map(agent);
    let changed = |a: &Agent| a.with_profile("B".to_owned(), a.profile.clone()).unwrap();
    assert!(changed(&offline).fresh_ticket.is_some());
    assert!(changed(&available).fresh_ticket.is_some());
    assert_eq!(changed(&attending).fresh_ticket, None);
    let queued = available.enqueue(AT, &Dimensions::default()).unwrap();
    assert!(
        queued
            .fresh_ticket
            .is_some_and(|ticket| ticket != available.ticket)
    );
}

#[test]
fn what_is_not_possible_says_what_to_do() {
    let attending = agent(states()[3].clone());
    let refused = attending.leave(Rest::Offline).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent is attendingCall; finish the call first"
    );
}
