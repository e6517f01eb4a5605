//! The source of the call batches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agent_queue::intake::Delivery;

use super::BATCH;

pub(super) enum Source {
    /// A batch contains messages from any group, in the order of the calls.
    Any(VecDeque<Delivery>),
    /// A batch contains messages from one group, and no group is in two batches at the same time.
    Routed {
        groups: BTreeMap<String, VecDeque<Delivery>>,
        taken: BTreeSet<String>,
    },
}

pub(super) enum Next {
    Batch(Vec<Delivery>),
    /// Every group that contains messages is currently in another matcher's batch.
    Later,
    End,
}

impl Source {
    pub(super) fn any(messages: Vec<Delivery>) -> Self {
        Self::Any(messages.into())
    }

    pub(super) fn routed(messages: Vec<Delivery>) -> Self {
        let mut groups: BTreeMap<_, VecDeque<_>> = BTreeMap::new();
        for message in messages {
            let group = groups.entry(message.group.clone()).or_default();
            group.push_back(message);
        }
        let taken = BTreeSet::new();
        Self::Routed { groups, taken }
    }

    pub(super) fn take(&mut self) -> Next {
        let batch: Vec<_> = match self {
            Self::Any(messages) => messages.drain(..BATCH.min(messages.len())).collect(),
            Self::Routed { groups, taken } => {
                groups.retain(|_, messages| !messages.is_empty());
                if groups.is_empty() {
                    return Next::End;
                }
                let free = groups.iter_mut().find(|(group, _)| !taken.contains(*group));
                let Some((group, messages)) = free else {
                    return Next::Later;
                };
                taken.insert(group.clone());
                messages.drain(..BATCH.min(messages.len())).collect()
            }
        };
        match batch.is_empty() {
            true => Next::End,
            false => Next::Batch(batch),
        }
    }

    /// Ends a batch and returns its failed messages, `left`, to the source.
    pub(super) fn return_messages(&mut self, batch: &[Delivery], left: Vec<Delivery>) {
        match self {
            Self::Any(messages) => messages.extend(left),
            Self::Routed { groups, taken } => {
                for message in left.into_iter().rev() {
                    let group = groups.entry(message.group.clone()).or_default();
                    group.push_front(message);
                }
                for message in batch {
                    taken.remove(&message.group);
                }
            }
        }
    }
}
