//! The items held by transactions in flight, and the writes during transactional reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agent_queue::transaction::Key;

use crate::sync::lock;

/// How a request accesses its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Transaction,
    TransactionalRead,
    Write,
    Batch,
    Read,
}

impl Access {
    pub fn of(operation: &str) -> Self {
        match operation {
            "TransactWriteItems" => Self::Transaction,
            "TransactGetItems" => Self::TransactionalRead,
            "PutItem" | "UpdateItem" | "DeleteItem" => Self::Write,
            "BatchWriteItem" => Self::Batch,
            _ => Self::Read,
        }
    }

    /// Returns the write units for one item of up to 1 KB.
    pub(super) fn write_units(self) -> f64 {
        match self {
            Self::Transaction => 2.0,
            Self::Write | Self::Batch => 1.0,
            Self::TransactionalRead | Self::Read => 0.0,
        }
    }
}

#[derive(Debug, Default)]
struct Items {
    /// All items held by transactions in flight. An item maps to true if a later transaction
    /// conflicted with the one that holds it and both are rejected.
    held: HashMap<Key, bool>,
    /// Number of transactions and writes that began, per item.
    begun: HashMap<Key, u64>,
}

impl Items {
    fn begun(&self, key: &Key) -> u64 {
        self.begun.get(key).copied().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub struct Held {
    items: Mutex<Items>,
}

impl Held {
    /// Whether a transaction holds this item.
    pub fn holds(&self, item: &Key) -> bool {
        lock(&self.items).held.contains_key(item)
    }

    /// Holds all items of a transaction until the returned value is dropped, or none of them. Other
    /// requests hold no items. The error has one flag per item, true if a transaction holds it.
    pub fn take(
        self: &Arc<Self>,
        access: Access,
        keys: Vec<Key>,
        both_rejected: impl FnOnce() -> bool,
    ) -> Result<Holding, Vec<bool>> {
        let mut items = lock(&self.items);
        let rejects = !matches!(access, Access::Batch | Access::Read);
        let in_the_way = |key: &Key| rejects && items.held.contains_key(key);
        let overlaps: Vec<_> = keys.iter().map(in_the_way).collect();
        let is_transaction = access == Access::Transaction;
        if overlaps.contains(&true) {
            if is_transaction && both_rejected() {
                for key in &keys {
                    let held = items.held.entry(key.clone());
                    held.and_modify(|doomed| *doomed = true);
                }
            }
            return Err(overlaps);
        }
        let mut holding = Holding {
            held: self.clone(),
            keys: vec![],
            read: vec![],
        };
        match access {
            Access::Transaction | Access::Write | Access::Batch => {
                for key in &keys {
                    *items.begun.entry(key.clone()).or_default() += 1;
                }
            }
            Access::TransactionalRead => {
                holding.read = keys
                    .iter()
                    .map(|key| items.begun(key))
                    .zip(keys.clone())
                    .collect();
            }
            Access::Read => {}
        }
        if is_transaction {
            items
                .held
                .extend(keys.iter().map(|key| (key.clone(), false)));
            holding.keys = keys;
        }
        Ok(holding)
    }
}

/// The items of one transaction in flight, held until this is dropped. Also dropped if the request
/// is cancelled.
#[derive(Debug)]
pub struct Holding {
    held: Arc<Held>,
    keys: Vec<Key>,
    /// The items of a transactional read, each with the number of its writes when the read began.
    read: Vec<(u64, Key)>,
}

impl Holding {
    /// Returns one flag per item, true if the item caused a conflict. `None` unless a conflict with
    /// a later transaction also rejects this one.
    pub fn doomed(&self) -> Option<Vec<bool>> {
        let items = lock(&self.held.items);
        let doomed = |key: &Key| items.held.get(key).is_some_and(|doomed| *doomed);
        any(self.keys.iter().map(doomed))
    }

    /// Returns one flag per item, true if a write of the item began during this transactional read.
    /// `None` if no write began.
    pub(super) fn disturbed(&self) -> Option<Vec<bool>> {
        let items = lock(&self.held.items);
        any(self
            .read
            .iter()
            .map(|(begun, key)| items.begun(key) != *begun))
    }
}

fn any(flags: impl Iterator<Item = bool>) -> Option<Vec<bool>> {
    let flags: Vec<_> = flags.collect();
    flags.contains(&true).then_some(flags)
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut items = lock(&self.held.items);
        for key in &self.keys {
            items.held.remove(key);
        }
    }
}
