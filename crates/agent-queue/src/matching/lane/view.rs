//! The queue entries that a lane has read, and the choice of an agent for a call.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::agent::Ticket;
use crate::transaction::QueueEntry;

/// Time for which an agent counts as lost, about the duration of the other transaction.
const BUSY: Duration = Duration::from_millis(8);

/// The entries that the last read returned.
#[derive(Debug)]
pub(super) struct View {
    entries: Vec<QueueEntry>,
    /// Agents that another transaction was changing, each with the time of that conflict.
    lost: HashMap<Ticket, Instant>,
    /// Number of reads before the last one.
    pub(super) looks: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pick {
    Entry(QueueEntry),
    /// Try again later, because other transactions are changing every agent available to this call.
    Later,
    Few,
}

impl View {
    pub(super) fn new(entries: Vec<QueueEntry>) -> Self {
        Self {
            entries,
            lost: HashMap::new(),
            looks: 0,
        }
    }

    pub(super) fn renew(&mut self, entries: Vec<QueueEntry>) {
        self.entries = entries;
        self.lost.retain(|_, lost| lost.elapsed() < BUSY);
        self.looks += 1;
    }

    pub(super) fn lose(&mut self, ticket: Ticket) {
        self.lost.insert(ticket, Instant::now());
    }

    /// Chooses one of the first `window` agents that are not lost, among the first `most` agents
    /// that this batch does not claim. A call therefore skips fewer than `most` queued agents.
    pub(super) fn pick(
        &self,
        claims: &mut HashSet<Ticket>,
        few: usize,
        window: usize,
        most: usize,
    ) -> Pick {
        let free = || {
            let entries = self.entries.iter();
            entries.filter(|entry| !claims.contains(&entry.ticket))
        };
        if free().count() < few {
            return Pick::Few;
        }
        let open: Vec<_> = free()
            .take(most)
            .filter(|entry| !self.lost.contains_key(&entry.ticket))
            .take(window)
            .collect();
        if open.is_empty() {
            return Pick::Later;
        }
        let entry = open[fastrand::usize(..open.len())].clone();
        claims.insert(entry.ticket);
        Pick::Entry(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::QueueName;
    use crate::name::AgentId;
    use crate::time::Micros;

    fn entries(count: u64) -> Vec<QueueEntry> {
        let queue = QueueName::from_stored("Q#Spanish#M");
        let entry = |at| QueueEntry {
            queue: queue.clone(),
            at: Micros(at),
            agent: AgentId::from_stored(format!("a{at}")),
            agent_name: String::new(),
            ticket: Ticket::fresh(),
            queues: vec![queue.clone()],
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn calls_get_the_first_agents_in_order_without_contention() {
        let entries = entries(5);
        let (view, mut claims) = (View::new(entries.clone()), HashSet::new());
        for entry in &entries[..4] {
            let pick = view.pick(&mut claims, 2, 1, 8);
            assert_eq!(pick, Pick::Entry(entry.clone()));
        }
        assert_eq!(view.pick(&mut claims, 2, 1, 8), Pick::Few);
        assert_eq!(claims.len(), 4);
    }

    #[test]
    fn call_passes_over_fewer_agents_than_the_window_including_lost_agents() {
        let entries = entries(20);
        let mut view = View::new(entries.clone());
        for entry in &entries[..3] {
            view.lose(entry.ticket);
        }
        let mut chosen = HashSet::new();
        for _ in 0..500 {
            let Pick::Entry(entry) = view.pick(&mut HashSet::new(), 1, 8, 8) else {
                panic!("nothing to choose");
            };
            chosen.insert(entry.at.0);
        }
        assert_eq!(chosen, (3..8).collect());
        for entry in &entries[3..8] {
            view.lose(entry.ticket);
        }
        assert_eq!(view.pick(&mut HashSet::new(), 1, 8, 8), Pick::Later);
        // Agents that this batch has claimed do not count toward the maximum.
        let mut claims: HashSet<_> = entries[..8].iter().map(|entry| entry.ticket).collect();
        let pick = view.pick(&mut claims, 1, 1, 8);
        assert_eq!(pick, Pick::Entry(entries[8].clone()));
    }
}
