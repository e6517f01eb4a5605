//! Checks that do not depend on the reference. They use only the responses and the stored rows, so
//! they find mistakes that the reference and the queue share.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_queue::store::Order;
use agent_queue::time::Micros;
use agent_queue::transaction::Key;

use super::operation::Response;
use crate::rows::{Row, Rows};
use crate::tally::{self, place, text};

/// The tickets and events seen so far.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    order: Order,
    given: BTreeSet<String>,
    published: BTreeSet<String>,
}

impl Ledger {
    pub fn new(order: Order) -> Self {
        Self {
            order,
            ..Self::default()
        }
    }

    /// Checks one step and records it.
    pub fn enter(
        &mut self,
        response: &Response,
        before: &Rows,
        after: &Rows,
    ) -> Result<(), String> {
        tally::check(after)?;
        if response.is_rejection() && before != after {
            return Err("rejected, and yet something changed".to_owned());
        }
        for row in &response.heard {
            self.published.insert(events(row));
        }
        for met in answered(before, after)? {
            if !self.given.insert(text(met, "Ticket").to_owned()) {
                return Err(format!("a ticket has a second call: {met:?}"));
            }
            self.in_order(met, before, after)?;
        }
        self.kept(before, after)
    }

    /// Checks that matching agents that remain queued come after the assigned agent in queue order,
    /// and that pending calls with the same criteria come after the assigned call.
    fn in_order(&self, record: &Row, before: &Rows, after: &Rows) -> Result<(), String> {
        let id = text(record, "AgentID");
        let passed = before.keys().filter(|key| after.contains_key(*key));
        // The agent's position comes from a queue before this step, from an assignment that this
        // step undid, or from an enqueue in this step.
        let own = before.keys().find(|(pk, sk)| {
            pk.starts_with("Q#") && sk.rsplit_once('#').is_some_and(|(_, of)| of == id)
        });
        // Agents that are queued together get positions a few microseconds apart.
        let slack = match self.order {
            Order::Fifo => 0,
            Order::Lifo => 10,
        };
        let joined = || {
            let at = Micros::parse(text(record, "AssignedAt")).unwrap_or_default();
            format!("{}#{id}", at.plus(Duration::from_micros(slack)))
        };
        let undone = before.iter().find_map(|((pk, _), row)| {
            let lease = pk.starts_with("Leases#") && text(row, "AgentID") == id;
            let place = row.get("QueuedAt").filter(|_| lease)?;
            Some(format!("{}#{id}", place[0]))
        });
        let own = own.map(|(_, sk)| sk.clone());
        let own = own.or(undone).unwrap_or_else(joined);
        for key @ (pk, sk) in passed.clone() {
            let fits = pk.strip_prefix("Q#").is_some_and(|queue| {
                std::iter::zip(text(record, "Criteria").split('#'), queue.split('#'))
                    .all(|(wanted, value)| wanted == "*" || wanted == value)
            });
            let earlier = match self.order {
                Order::Fifo => *sk < own,
                Order::Lifo => *sk > own,
            };
            if fits && earlier && before[key] == after[key] {
                return Err(format!("{record:?} passes {key:?} over"));
            }
        }
        let place = place(record);
        let line = format!("C#{}", text(record, "Criteria"));
        let mut same = passed.filter(|(pk, _)| *pk == line);
        match same.find(|(_, sk)| *sk < place) {
            Some(key) => Err(format!("{record:?} overtakes {key:?}")),
            None => Ok(()),
        }
    }

    /// Checks that every assignment and expired call is published or in the outbox, and that agents
    /// and queues are never deleted.
    fn kept(&self, before: &Rows, after: &Rows) -> Result<(), String> {
        let calls = after.iter().filter(|((pk, _), _)| pk.starts_with("Call#"));
        let is_news = |row: &Row| ["assigned", "expired"].contains(&text(row, "CallStatus"));
        for (_, record) in calls.filter(|(_, row)| is_news(row)) {
            let call = events(record);
            let kept = after
                .iter()
                .any(|((pk, _), row)| pk.starts_with("Outbox#") && events(row) == call);
            if !kept && !self.published.contains(&call) {
                return Err(format!(
                    "{call} was neither published nor kept in the outbox"
                ));
            }
        }
        let known = before
            .keys()
            .filter(|(pk, _)| pk.starts_with("Agents#") || pk == "AllQueues");
        match known.clone().find(|key| !after.contains_key(*key)) {
            Some(gone) => Err(format!("{gone:?} is gone")),
            None => Ok(()),
        }
    }
}

/// Returns the call and its assignment number, from a call row or an outbox row.
fn events(row: &Row) -> String {
    let number = match text(row, "CallStatus") == "assigned" {
        true => text(row, "Assignment"),
        false => "",
    };
    format!("{} {number}", text(row, "CallID"))
}

/// Returns the calls assigned in this step. Returns an error if a call that was no longer pending
/// changed, unless its assignment was not answered.
fn answered<'a>(before: &'a Rows, after: &'a Rows) -> Result<Vec<&'a Row>, String> {
    let mut met = vec![];
    let is_call = |(key, _): &(&Key, &Row)| key.0.starts_with("Call#");
    for (key, record) in after.iter().filter(is_call) {
        let was = before.get(key);
        let waited = was.is_some_and(|was| text(was, "CallStatus") == "waiting");
        if was == Some(record) {
            continue;
        }
        if was.is_some_and(|was| !waited && !is_returned(was, record)) {
            return Err(format!("{was:?} became {record:?}"));
        }
        if text(record, "CallStatus") == "assigned" {
            met.push(record);
        }
    }
    Ok(met)
}

/// Whether an assignment ended without an answer, so that the call has none or a later one.
fn is_returned(was: &Row, record: &Row) -> bool {
    let number = |row| text(row, "Assignment").parse::<u32>().unwrap_or(0);
    let assigned = text(was, "CallStatus") == "assigned";
    assigned
        && match text(record, "CallStatus") {
            "waiting" | "expired" | "cancelled" => number(record) == number(was),
            "assigned" => number(record) > number(was),
            _ => false,
        }
}
