//! Which items are in whose hands.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::request::Key;

/// How a request is about its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// `TransactWriteItems`.
    Transaction,
    /// `TransactGetItems`.
    TransactionalRead,
    /// `PutItem`, `UpdateItem`, `DeleteItem`.
    Write,
    /// `BatchWriteItem`.
    Batch,
    /// Anything else.
    Read,
}

impl Access {
    /// By the operation's name.
    pub(super) fn of(operation: &str) -> Self {
        match operation {
            "TransactWriteItems" => Self::Transaction,
            "TransactGetItems" => Self::TransactionalRead,
            "PutItem" | "UpdateItem" | "DeleteItem" => Self::Write,
            "BatchWriteItem" => Self::Batch,
            _ => Self::Read,
        }
    }
}

/// Who holds one item.
#[derive(Clone, Copy, Debug, Default)]
struct Holders {
    /// At most one at a time.
    transaction: bool,
    writes: u32,
}

impl Holders {
    fn refuse(self, access: Access) -> bool {
        match access {
            Access::Transaction | Access::Write => self.transaction,
            Access::TransactionalRead => self.transaction || self.writes > 0,
            Access::Batch | Access::Read => false,
        }
    }

    fn nobody(self) -> bool {
        !self.transaction && self.writes == 0
    }
}

/// All items that requests in flight hold.
#[derive(Debug, Default)]
pub(super) struct Held {
    items: Mutex<HashMap<Key, Holders>>,
}

impl Held {
    /// Takes all items or none of them; refused with a mark at each that is in the way. They
    /// are held until what is returned is dropped.
    pub(super) fn take(
        self: &Arc<Self>,
        access: Access,
        keys: Vec<Key>,
    ) -> Result<Holding, Vec<bool>> {
        let mut items = self.lock();
        let in_the_way = |key: &Key| items.get(key).is_some_and(|held| held.refuse(access));
        let overlaps: Vec<_> = keys.iter().map(in_the_way).collect();
        if overlaps.contains(&true) {
            return Err(overlaps);
        }
        for key in &keys {
            match access {
                Access::Transaction => {
                    items.entry(key.clone()).or_default().transaction = true;
                }
                Access::Write | Access::Batch => items.entry(key.clone()).or_default().writes += 1,
                Access::TransactionalRead | Access::Read => {}
            }
        }
        Ok(Holding {
            held: self.clone(),
            access,
            keys,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Holders>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The items of one request in flight, held as long as this lives: also of one that is given up.
#[derive(Debug)]
pub(super) struct Holding {
    held: Arc<Held>,
    access: Access,
    keys: Vec<Key>,
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut items = self.held.lock();
        for key in &self.keys {
            let Some(holders) = items.get_mut(key) else {
                continue;
            };
            match self.access {
                Access::Transaction => holders.transaction = false,
                Access::Write | Access::Batch => holders.writes = holders.writes.saturating_sub(1),
                Access::TransactionalRead | Access::Read => {}
            }
            if holders.nobody() {
                items.remove(key);
            }
        }
    }
}
