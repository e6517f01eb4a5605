//! The items that requests in flight hold.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::request::Key;

/// How a request accesses its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Transaction,
    TransactionalRead,
    Write,
    Batch,
    Read,
}

impl Access {
    pub(super) fn of(operation: &str) -> Self {
        match operation {
            "TransactWriteItems" => Self::Transaction,
            "TransactGetItems" => Self::TransactionalRead,
            "PutItem" | "UpdateItem" | "DeleteItem" => Self::Write,
            "BatchWriteItem" => Self::Batch,
            _ => Self::Read,
        }
    }

    /// The write units of one item of at most 1 KB.
    pub(super) fn write_units(self) -> f64 {
        match self {
            Self::Transaction => 2.0,
            Self::Write | Self::Batch => 1.0,
            Self::TransactionalRead | Self::Read => 0.0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Holders {
    /// Whether a transaction holds it; at most one can.
    transaction: bool,
    /// Whether a later transaction conflicted with the holding one, and DynamoDB rejects both.
    doomed: bool,
    writes: u32,
    /// Transactional reads, which exclude no other request.
    reads: u32,
    /// Number of transactions and writes that began since the item was first held.
    begun: u64,
}

impl Holders {
    fn reject(self, access: Access) -> bool {
        match access {
            Access::Transaction | Access::Write => self.transaction,
            Access::TransactionalRead => self.transaction || self.writes > 0,
            Access::Batch | Access::Read => false,
        }
    }

    fn is_empty(self) -> bool {
        !self.transaction && self.writes == 0 && self.reads == 0
    }
}

/// All items that requests in flight hold.
#[derive(Debug, Default)]
pub(super) struct Held {
    items: Mutex<HashMap<Key, Holders>>,
}

impl Held {
    /// Holds all items until the returned value is dropped, or none. The error has a flag for each
    /// item: true where another request holds it.
    pub(super) fn take(
        self: &Arc<Self>,
        access: Access,
        keys: Vec<Key>,
        both_rejected: impl FnOnce() -> bool,
    ) -> Result<Holding, Vec<bool>> {
        let mut items = self.lock();
        let in_the_way = |key: &Key| items.get(key).is_some_and(|held| held.reject(access));
        let overlaps: Vec<_> = keys.iter().map(in_the_way).collect();
        if overlaps.contains(&true) {
            if access == Access::Transaction && both_rejected() {
                for (key, _) in std::iter::zip(&keys, &overlaps).filter(|(_, met)| **met) {
                    items
                        .entry(key.clone())
                        .and_modify(|held| held.doomed = true);
                }
            }
            return Err(overlaps);
        }
        let mut begun = vec![];
        for key in &keys {
            let holders = items.entry(key.clone()).or_default();
            match access {
                Access::Transaction => holders.transaction = true,
                Access::Write | Access::Batch => holders.writes += 1,
                Access::TransactionalRead | Access::Read => holders.reads += 1,
            }
            if !matches!(access, Access::TransactionalRead | Access::Read) {
                holders.begun += 1;
            }
            begun.push(holders.begun);
        }
        drop(items);
        Ok(Holding {
            held: self.clone(),
            access,
            keys,
            begun,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Holders>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The items of one request in flight, held until this is dropped. Also dropped if the request is
/// cancelled.
#[derive(Debug)]
pub(super) struct Holding {
    held: Arc<Held>,
    access: Access,
    keys: Vec<Key>,
    /// The value of `begun` at each item when the request began.
    begun: Vec<u64>,
}

impl Holding {
    /// If a conflict with a later transaction also rejects this one: a flag for each item, true
    /// where they conflicted.
    pub(super) fn doomed(&self) -> Option<Vec<bool>> {
        if self.access != Access::Transaction {
            return None;
        }
        let items = self.held.lock();
        let doomed = |key: &Key| items.get(key).is_some_and(|holders| holders.doomed);
        let marks: Vec<_> = self.keys.iter().map(doomed).collect();
        marks.contains(&true).then_some(marks)
    }

    /// If another request began to write an item in the meantime, so that a transactional read saw
    /// no consistent snapshot: a flag for each item, true where that happened.
    pub(super) fn disturbed(&self) -> Option<Vec<bool>> {
        if self.access != Access::TransactionalRead {
            return None;
        }
        let items = self.held.lock();
        let written = |(key, begun): (&Key, &u64)| {
            let now = items.get(key).map(|holders| holders.begun);
            now != Some(*begun)
        };
        let marks: Vec<_> = self.keys.iter().zip(&self.begun).map(written).collect();
        marks.contains(&true).then_some(marks)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut items = self.held.lock();
        for key in &self.keys {
            let Some(holders) = items.get_mut(key) else {
                continue;
            };
            match self.access {
                Access::Transaction => (holders.transaction, holders.doomed) = (false, false),
                Access::Write | Access::Batch => holders.writes = holders.writes.saturating_sub(1),
                Access::TransactionalRead | Access::Read => {
                    holders.reads = holders.reads.saturating_sub(1);
                }
            }
            if holders.is_empty() {
                items.remove(key);
            }
        }
    }
}
