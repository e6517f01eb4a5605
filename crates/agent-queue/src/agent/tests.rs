use std::collections::BTreeSet;

use super::*;
use crate::name::Value;

const AT: Micros = Micros(7);

fn agent(state: AgentState) -> Agent {
    let value = |text| BTreeSet::from([Value::new(text).unwrap()]);
    let profile = Profile::new(vec![value("Spanish"), value("M")]);
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
            answered: true,
        },
    ]
}

type Arrow = fn(&Agent) -> Transition;

/// Checks the result of each transition from each state against the table in the module's
/// documentation.
#[test]
fn only_documented_transitions_exist() {
    use AgentStatus::{AttendingCall, Available, Offline, Queued};
    let arrows: [(Arrow, [Option<AgentStatus>; 4]); 8] = [
        (
            |a| a.become_available(AT),
            [Some(Available), None, None, None],
        ),
        (
            |a| a.enqueue(AT, &Dimensions::default()),
            [None, Some(Queued), None, None],
        ),
        (
            |a| a.leave(IdleStatus::Available),
            [None, None, Some(Available), None],
        ),
        (
            |a| a.leave(IdleStatus::Offline),
            [None, Some(Offline), Some(Offline), None],
        ),
        (
            |a| a.finish(&CallId::new("c1").unwrap(), a.ticket, AT),
            [None, None, None, Some(Available)],
        ),
        (
            |a| a.extend(&CallId::new("c1").unwrap(), a.ticket, Some(AT)),
            [None, None, None, Some(AttendingCall)],
        ),
        (
            |a| {
                let change = a.requeue(a.ticket, AT, &Dimensions::default());
                change.ok_or(InvalidTransition::OtherCall)
            },
            [None, None, None, Some(Queued)],
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

/// Every transition of an agent in a call requires the call lease as read. A finish, an extension
/// or a new profile that was prepared before another extension fails afterwards.
#[test]
fn call_transitions_require_the_lease_as_read() {
    let call = CallId::new("c1").unwrap();
    let leased = |until| {
        agent(AgentState::AttendingCall {
            call: call.clone(),
            until,
            answered: true,
        })
    };
    let arrows: [Arrow; 3] = [
        |a| a.finish(&CallId::new("c1").unwrap(), a.ticket, AT),
        |a| a.extend(&CallId::new("c1").unwrap(), a.ticket, Some(AT)),
        |a| a.with_profile("B".to_owned(), a.profile.clone()),
    ];
    for (before, after) in [
        (None, Some(AT)),
        (Some(AT), None),
        (Some(AT), Some(Micros(8))),
    ] {
        for (number, arrow) in arrows.iter().enumerate() {
            let read = leased(before);
            let change = arrow(&read).unwrap();
            assert!(change.is_met_by(&read), "arrow {number}");
            let extended = Agent {
                ticket: read.ticket,
                ..leased(after)
            };
            assert!(!change.is_met_by(&extended), "arrow {number}");
        }
    }
}

#[test]
fn invalid_transition_error_names_the_remedy() {
    let attending = agent(states()[3].clone());
    let rejected = attending.leave(IdleStatus::Offline).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "the agent is attendingCall; finish the call first"
    );
}
