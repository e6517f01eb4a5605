//! The items held by transactions in flight.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::request::Key;
use crate::sync::lock;

/// How a request accesses its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Transaction,
    Write,
    Batch,
    Read,
}

impl Access {
    pub(super) fn of(operation: &str) -> Self {
        match operation {
            "TransactWriteItems" => Self::Transaction,
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
            Self::Read => 0.0,
        }
    }
}

/// All items held by transactions in flight. An item maps to true if a later transaction conflicted
/// with the one that holds it and both are rejected.
#[derive(Debug, Default)]
pub(super) struct Held {
    items: Mutex<HashMap<Key, bool>>,
}

impl Held {
    /// Holds all items of a transaction until the returned value is dropped, or none of them. Other
    /// requests hold no items. The error has one flag per item, true if a transaction holds it.
    pub(super) fn take(
        self: &Arc<Self>,
        access: Access,
        keys: Vec<Key>,
        both_rejected: impl FnOnce() -> bool,
    ) -> Result<Holding, Vec<bool>> {
        let mut items = lock(&self.items);
        let rejects = matches!(access, Access::Transaction | Access::Write);
        let in_the_way = |key: &Key| rejects && items.contains_key(key);
        let overlaps: Vec<_> = keys.iter().map(in_the_way).collect();
        let is_transaction = access == Access::Transaction;
        if overlaps.contains(&true) {
            if is_transaction && both_rejected() {
                for key in &keys {
                    items.entry(key.clone()).and_modify(|doomed| *doomed = true);
                }
            }
            return Err(overlaps);
        }
        let keys = if is_transaction { keys } else { vec![] };
        items.extend(keys.iter().map(|key| (key.clone(), false)));
        drop(items);
        let held = self.clone();
        Ok(Holding { held, keys })
    }
}

/// The items of one transaction in flight, held until this is dropped. Also dropped if the request
/// is cancelled.
#[derive(Debug)]
pub(super) struct Holding {
    held: Arc<Held>,
    keys: Vec<Key>,
}

impl Holding {
    /// Returns one flag per item, true if the item caused a conflict. `None` unless a conflict with
    /// a later transaction also rejects this one.
    pub(super) fn doomed(&self) -> Option<Vec<bool>> {
        let items = lock(&self.held.items);
        let doomed = |key: &Key| items.get(key).is_some_and(|doomed| *doomed);
        let marks: Vec<_> = self.keys.iter().map(doomed).collect();
        marks.contains(&true).then_some(marks)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut items = lock(&self.held.items);
        for key in &self.keys {
            items.remove(key);
        }
    }
}
