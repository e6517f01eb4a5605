//! Call outcomes and pending calls.

use std::sync::Arc;

use agent_queue::call::{Call, CallRecord, CallState};
use agent_queue::store::{AgentStore, Committed, Line, Rejection, There};
use agent_queue::transaction::{Before, Change, Step};
use agents::*;

fn record(state: CallState) -> CallRecord {
    let call = call("c1", "Spanish#*", 4);
    match state {
        CallState::Pending => CallRecord::pending(call),
        state => CallRecord::ended(call, state, at(5)),
    }
}

fn assigned(until: Option<u64>) -> CallState {
    CallState::Assigned(assignment("c1", "Spanish#*", 6, until))
}

fn write(before: Before, record: &CallRecord) -> Change {
    Change::of(vec![Step::Call(before, record.clone())])
}

fn rejected(there: Option<&CallRecord>) -> Committed {
    let there = there.cloned().map(Box::new).map(There::Call);
    Committed::Rejected(vec![Rejection { step: 0, there }])
}

pub(crate) async fn call_is_created_only_once(store: Arc<dyn AgentStore>) {
    assert_eq!(store.call(&call_id("c1")).await.unwrap(), None);
    let first = record(CallState::Pending);
    done(&*store, &write(Before::New, &first)).await;
    assert_eq!(
        store.call(&call_id("c1")).await.unwrap(),
        Some(first.clone())
    );
    let mut other = record(CallState::Expired);
    other.call.arrived = at(9);
    let again = store.commit(&write(Before::New, &other)).await.unwrap();
    assert_eq!(again, rejected(Some(&first)));
    assert_eq!(store.call(&call_id("c1")).await.unwrap(), Some(first));
}

/// For each outcome, the call is stored completely.
pub(crate) async fn only_a_pending_call_can_end(store: Arc<dyn AgentStore>) {
    let ends = [
        assigned(None),
        assigned(Some(90)),
        CallState::Cancelled,
        CallState::Expired,
    ];
    for (number, end) in (0..).zip(ends) {
        let of = |state| {
            let mut record = record(state);
            record.call.id = call_id(&format!("c{number}"));
            if let CallState::Assigned(assignment) = &mut record.state {
                assignment.call_id = record.call.id.clone();
            }
            record
        };
        let ended = of(end);
        let early = store.commit(&write(Before::Pending, &ended)).await.unwrap();
        assert_eq!(early, rejected(None), "there is no such call");
        done(&*store, &write(Before::New, &of(CallState::Pending))).await;
        done(&*store, &write(Before::Pending, &ended)).await;
        let there = store.call(&ended.call.id).await.unwrap();
        assert_eq!(there.as_ref(), Some(&ended));
        for state in [CallState::Cancelled, CallState::Pending] {
            let late = store.commit(&write(Before::Pending, &of(state))).await;
            assert_eq!(late.unwrap(), rejected(Some(&ended)));
        }
    }
}

pub(crate) async fn pending_calls_are_ordered_by_age_within_their_criteria(
    store: Arc<dyn AgentStore>,
) {
    let calls = [
        call("z", "Spanish#M", 9),
        call("y", "Spanish#M", 10),
        call("b", "Spanish#M", 100),
        call("a", "Spanish#M", 100),
        call("any", "Spanish#*", 1),
        call("men", "*#M", 1),
        call("longer", "Spanish#M2", 1),
    ];
    for call in calls.iter().rev() {
        done(&*store, &Change::wait(call)).await;
    }
    let pending = async |wanted, limit| {
        let calls = store.calls_in_line(&criteria(wanted), limit).await.unwrap();
        let ids = calls.iter().map(|call| call.id.to_string());
        (ids.collect::<Vec<_>>().join(" "), calls)
    };
    assert_eq!(pending("Spanish#M", 9).await.0, "z y a b");
    assert_eq!(pending("Spanish#M", 2).await.0, "z y");
    let whole: &[Call] = &calls[4..5];
    assert_eq!(pending("Spanish#*", 1).await.1, whole);
    assert_eq!(pending("*#M", 9).await.0, "men");
    assert_eq!(pending("*#*", 9).await.0, "", "reads only its own line");
    for _ in 0..2 {
        // The step succeeds even without an entry, because only the call's item has a condition.
        done(&*store, &Change::of(vec![Step::Unwait(calls[0].clone())])).await;
        assert_eq!(pending("Spanish#M", 1).await.0, "y");
    }
}

pub(crate) async fn pending_calls_are_counted_per_line(store: Arc<dyn AgentStore>) {
    let depths = async || {
        let counts = store.pending().await.unwrap();
        let plain = counts.iter().map(|is| (is.criteria.to_string(), is.depth));
        plain.collect::<Vec<_>>()
    };
    let calls = [("a", "Spanish#M"), ("b", "*#M"), ("c", "Spanish#M")];
    for (number, (id, wanted)) in (0..).zip(calls) {
        wait(&*store, &call(id, wanted, number)).await;
    }
    let number = |wanted: &str, depth| (wanted.to_owned(), depth);
    assert_eq!(depths().await, [number("*#M", 1), number("Spanish#M", 2)]);
    done(&*store, &Change::cancel(&call("a", "Spanish#M", 0), at(9))).await;
    done(&*store, &Change::cancel(&call("b", "*#M", 1), at(9))).await;
    assert_eq!(depths().await, [number("*#M", 0), number("Spanish#M", 1)]);
}

pub(crate) async fn line_is_closed_unless_it_was_opened_again(store: Arc<dyn AgentStore>) {
    let wanted = criteria("*#M");
    store.open_line(&wanted, at(1)).await.unwrap();
    let read = store.lines().await.unwrap();
    let line = Line {
        criteria: wanted.clone(),
        seen: at(1),
    };
    assert_eq!(read, std::slice::from_ref(&line));
    store.open_line(&wanted, at(2)).await.unwrap();
    store.close_line(&line).await.unwrap();
    let read = store.lines().await.unwrap();
    assert_eq!((read.len(), read[0].seen), (1, at(2)));
    for _ in 0..2 {
        store.close_line(&read[0]).await.unwrap();
        assert_eq!(store.lines().await.unwrap(), []);
    }
}

pub(crate) async fn calls_of_one_microsecond_are_ordered_by_sequence(store: Arc<dyn AgentStore>) {
    // SQS sequence numbers within a group have about 20 digits, and sometimes grow by one digit.
    let numbers = [
        ("c", 9_999_999_999_999_999_872),
        ("b", 18_849_496_460_467_696_128),
        ("a", 18_849_496_460_467_696_384),
    ];
    for (id, sequence) in numbers.into_iter().rev() {
        let call = Call {
            sequence,
            ..call(id, "Spanish#M", 5)
        };
        wait(&*store, &call).await;
    }
    let pending = store.calls_in_line(&criteria("Spanish#M"), 9).await;
    let ids: Vec<_> = pending
        .unwrap()
        .iter()
        .map(|call| call.id.to_string())
        .collect();
    assert_eq!(ids, ["c", "b", "a"]);
}
