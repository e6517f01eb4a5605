//! Draws requests. Most are requests that a correct `agent-desk` sends in this state. The others
//! are late, repeated, forged, or from a crashed process.

use agent_queue::agent::{AgentState, AgentStatus, IdleStatus, Ticket};
use agent_queue::call::{Call, CallState};
use agent_queue::name::{AgentId, CallId};
use agent_queue::time::Micros;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use uuid::Uuid;

use super::machine::Machine;
use super::operation::{Operation, Wish};
use crate::{agent_id, call_id, criteria, profile};

/// Ids of the agents in a sequence.
const AGENTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Ticket that no agent ever had.
const FORGED: Ticket = Ticket(Uuid::max());

pub fn operation(machine: &Machine) -> BoxedStrategy<Operation> {
    use AgentStatus::{AttendingCall, Available, Offline, Queued};
    let has = |status| machine.any(|state| state.status() == status);
    let of = |status, wish| of_agent(machine, status, wish);
    let mut lines = machine.reference.pending.values();
    let waits = lines.any(|line| !line.is_empty());
    // Rarely draw requests that the queue would reject.
    let weight = |promising: bool, usual: u32| if promising { usual } else { 1 };
    let available = has(Available);
    let free = machine.reference.agents.len() < AGENTS.len();
    let wishes = Union::new_weighted(vec![
        (weight(free, 9), register(machine)),
        (weight(has(Offline), 9), of(Offline, Wish::Available)),
        (weight(available, 16), of(Available, Wish::Enqueue)),
        (2, of(Queued, Wish::Enqueue)),
        (weight(available, 2), Just(Wish::EnqueueAll).boxed()),
        (4, leave(machine)),
        (14, new_call(machine).prop_map(Wish::Match).boxed()),
        (weight(!machine.brought.is_empty(), 5), again(machine)),
        (weight(waits, 3), cancel(machine)),
        (weight(!machine.stays.is_empty(), 9), finish(machine)),
        (weight(has(AttendingCall), 7), extend(machine)),
        (weight(!machine.made.is_empty(), 20), publish(machine)),
        (3, heard(3).prop_map(Wish::Sweep).boxed()),
        (weight(available, 4), of(Available, Wish::DieEnqueuing)),
        (4, new_call(machine).prop_map(Wish::DiePending).boxed()),
        (1, any_call(machine).prop_map(Wish::Call).boxed()),
        (1, Just(Wish::Queues).boxed()),
        (1, page()),
    ]);
    (moment(machine), wishes)
        .prop_map(|(now, wish)| Operation { now, wish })
        .boxed()
}

/// Draws whether the publisher works: one failure per `works` successes.
fn heard(works: u32) -> impl Strategy<Value = bool> {
    prop_oneof![works => Just(true), 1 => Just(false)]
}

/// Draws the time of the request: mostly up to two seconds later, sometimes the same microsecond,
/// and rarely after the grace period, a lease or the maximum wait, often at that exact time.
fn moment(machine: &Machine) -> BoxedStrategy<Micros> {
    let clock = machine.clock;
    prop_oneof![
        30 => Just(0_u64),
        60 => 0..2_000_000_u64,
        3 => Just(5_000_000),
        3 => prop_oneof![Just(25_000_000), Just(25_000_001)],
        3 => prop_oneof![Just(40_000_000), Just(40_000_001), 20_000_000..45_000_000_u64],
        2 => prop_oneof![Just(60_000_000), Just(59_999_999), 50_000_000..70_000_000_u64],
    ]
    .prop_map(move |passed| Micros(clock.0 + passed))
    .boxed()
}

/// Draws one of `chosen`, `times` times as often as `any`; draws only `any` if `chosen` is empty.
fn mostly<T: Clone + std::fmt::Debug + 'static>(
    times: u32,
    chosen: Vec<T>,
    any: BoxedStrategy<T>,
) -> BoxedStrategy<T> {
    match chosen.is_empty() {
        true => any,
        false => prop_oneof![times => select(chosen), 1 => any].boxed(),
    }
}

/// Draws an agent, preferably one in this state.
fn agent(machine: &Machine, status: AgentStatus) -> BoxedStrategy<AgentId> {
    let any = select(&AGENTS[..]).prop_map(agent_id).boxed();
    let agents = machine.reference.agents.values();
    let like: Vec<_> = agents
        .filter(|agent| agent.state.status() == status)
        .map(|agent| agent.id.clone())
        .collect();
    mostly(8, like, any)
}

fn of_agent(
    machine: &Machine,
    status: AgentStatus,
    wish: fn(AgentId) -> Wish,
) -> BoxedStrategy<Wish> {
    agent(machine, status).prop_map(wish).boxed()
}

fn register(machine: &Machine) -> BoxedStrategy<Wish> {
    let languages = select(
        &[
            &["Spanish"] as &[&str],
            &["English"],
            &["English", "Spanish"],
            &["English", "French", "Spanish"],
        ][..],
    );
    let fresh: Vec<_> = AGENTS
        .into_iter()
        .filter(|id| !machine.reference.agents.contains_key(&agent_id(id)))
        .collect();
    // Sometimes choose a registered agent, which gets another profile.
    let any = select(&AGENTS[..]).boxed();
    (
        mostly(3, fresh, any),
        languages,
        select(&["F", "M"][..]),
        0..3_u8,
    )
        .prop_map(|(id, languages, gender, name)| {
            let profile = profile(languages, gender);
            // Multiple agents can have the same name.
            Wish::Register(agent_id(id), format!("Name {name}"), profile)
        })
        .boxed()
}

fn leave(machine: &Machine) -> BoxedStrategy<Wish> {
    let rest = prop_oneof![Just(IdleStatus::Available), Just(IdleStatus::Offline)];
    let agent = prop_oneof![
        3 => agent(machine, AgentStatus::Queued),
        1 => agent(machine, AgentStatus::Available),
    ];
    (agent, rest)
        .prop_map(|(id, rest)| Wish::Leave(id, rest))
        .boxed()
}

/// Draws a new call that was sent just now, a while ago, or too long ago.
fn new_call(machine: &Machine) -> BoxedStrategy<Call> {
    let id = call_id(&format!("c{}", machine.calls));
    let languages = select(&["English", "Spanish", "Spanish", "French", "*"][..]);
    let gender = select(&["F", "M", "F", "M", "*"][..]);
    (languages, gender, sent(machine))
        .prop_map(move |(language, gender, arrived)| {
            let criteria = criteria(&format!("{language}#{gender}"));
            Call::new(id.clone(), criteria, arrived)
        })
        .boxed()
}

fn sent(machine: &Machine) -> BoxedStrategy<Micros> {
    let clock = machine.clock;
    prop_oneof![
        30 => Just(0_u64),
        10 => 0..30_000_000_u64,
        1 => 55_000_000..65_000_000_u64,
    ]
    .prop_map(move |ago| Micros(clock.0 - ago))
    .boxed()
}

/// Draws a known call, unchanged or with different criteria, or a new call.
fn again(machine: &Machine) -> BoxedStrategy<Wish> {
    if machine.brought.is_empty() {
        return new_call(machine).prop_map(Wish::Match).boxed();
    }
    let brought = select(machine.brought.clone());
    let other = (brought.clone(), new_call(machine)).prop_map(|(call, other)| Call {
        id: call.id,
        ..other
    });
    prop_oneof![3 => brought, 1 => other]
        .prop_map(Wish::Match)
        .boxed()
}

fn any_call(machine: &Machine) -> BoxedStrategy<CallId> {
    let none = Just(call_id("none")).boxed();
    mostly(5, machine.reference.calls.keys().cloned().collect(), none)
}

fn cancel(machine: &Machine) -> BoxedStrategy<Wish> {
    let records = machine.reference.calls.values();
    let pending: Vec<_> = records
        .filter(|record| matches!(record.state, CallState::Pending | CallState::Assigned(_)))
        .map(|record| record.call.id.clone())
        .collect();
    let call = mostly(4, pending, any_call(machine));
    call.prop_map(Wish::Cancel).boxed()
}

/// Draws a request to finish an active or an ended call. The ticket may be that of another
/// assignment, or one that no agent ever had.
fn finish(machine: &Machine) -> BoxedStrategy<Wish> {
    let forged = (
        agent(machine, AgentStatus::AttendingCall),
        any_call(machine),
    )
        .prop_map(|(id, call)| Wish::Finish(id, call, FORGED))
        .boxed();
    if machine.stays.is_empty() {
        return forged;
    }
    let agents = machine.reference.agents.values();
    let current: Vec<_> = agents
        .filter_map(|agent| match &agent.state {
            AgentState::AttendingCall { call, .. } => {
                Some((agent.id.clone(), call.clone(), agent.ticket))
            }
            _ => None,
        })
        .collect();
    let stay = |stays: Vec<_>| {
        let stay = select(stays);
        stay.prop_map(|(id, call, ticket)| Wish::Finish(id, call, ticket))
    };
    let any = select(machine.stays.clone());
    let tickets = select(machine.stays.clone());
    let mixed =
        (any, tickets).prop_map(|((id, call, _), (_, _, ticket))| Wish::Finish(id, call, ticket));
    let late = prop_oneof![3 => stay(machine.stays.clone()), 2 => mixed, 1 => forged];
    match current.is_empty() {
        true => late.boxed(),
        false => prop_oneof![3 => stay(current), 1 => late].boxed(),
    }
}

/// Draws agent, call and ticket as [`finish`] does.
fn extend(machine: &Machine) -> BoxedStrategy<Wish> {
    finish(machine)
        .prop_map(|wish| match wish {
            Wish::Finish(id, call, ticket) => Wish::Extend(id, call, ticket),
            other => other,
        })
        .boxed()
}

/// Publishes the last request's assignments; the publisher fails in one of five cases.
fn publish(machine: &Machine) -> BoxedStrategy<Wish> {
    let made = machine.made.clone();
    heard(4)
        .prop_map(move |heard| Wish::Tell(made.clone(), heard))
        .boxed()
}

fn page() -> BoxedStrategy<Wish> {
    let after = proptest::option::of(select(&AGENTS[..]).prop_map(agent_id));
    (after, 1..8_u16)
        .prop_map(|(after, limit)| Wish::Agents(after, limit))
        .boxed()
}
