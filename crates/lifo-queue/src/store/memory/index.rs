//! The in-memory tasks, and their index of ids per status, ordered by `taskCreated`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Deref, DerefMut};

use super::Record;
use crate::store::{Cursor, Order, PageQuery, StoreError};
use crate::task::{TaskId, TaskStatus};
use crate::time::Millis;

/// The entries of a page, and the cursor for the next page.
type Entries = (Vec<(TaskId, Record)>, Option<Cursor>);

type Index = BTreeMap<TaskStatus, BTreeSet<(Millis, TaskId)>>;

/// The tasks by id, and their index.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    by_id: BTreeMap<TaskId, Record>,
    index: Index,
}

impl Tasks {
    pub(super) fn get(&self, id: &TaskId) -> Option<&Record> {
        self.by_id.get(id)
    }

    /// Returns a record for modification. Dropping the returned `Change` updates the index.
    pub(super) fn get_mut(&mut self, id: &TaskId) -> Option<Change<'_>> {
        let record = self.by_id.get_mut(id)?;
        Some(Change {
            before: (record.status, record.created),
            id: id.clone(),
            record,
            index: &mut self.index,
        })
    }

    pub(super) fn insert(&mut self, id: TaskId, record: Record) {
        self.remove(&id);
        let entries = self.index.entry(record.status).or_default();
        entries.insert((record.created, id.clone()));
        self.by_id.insert(id, record);
    }

    pub(super) fn remove(&mut self, id: &TaskId) -> Option<Record> {
        let (id, record) = self.by_id.remove_entry(id)?;
        if let Some(entries) = self.index.get_mut(&record.status) {
            entries.remove(&(record.created, id));
        }
        Some(record)
    }

    /// All tasks, ordered by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&TaskId, &Record)> {
        self.by_id.iter()
    }

    pub(super) fn page(&self, query: &PageQuery) -> Result<Entries, StoreError> {
        query.check()?;
        let Some(index) = self.index.get(&query.status.status) else {
            return Ok((vec![], None));
        };
        let from = query
            .created_from
            .map(|from| (from, TaskId::from_stored("")));
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        let after = query.after.as_ref();
        let after = after.map(|at| Bound::Excluded((at.created(), at.task.clone())));
        let entries: Box<dyn Iterator<Item = _>> = match query.order {
            Order::NewestFirst => {
                let range = (from, after.unwrap_or(Bound::Unbounded));
                Box::new(index.range(range).rev())
            }
            Order::OldestFirst => {
                let range = (after.unwrap_or(from), Bound::Unbounded);
                Box::new(index.range(range))
            }
        };
        let mut rest = entries.filter_map(|(_, id)| self.by_id.get_key_value(id));
        let evaluated: Vec<_> = rest
            .by_ref()
            .take(usize::from(query.limit))
            .map(|(id, record)| (id.clone(), record.clone()))
            .collect();
        let more = rest.next().is_some();
        let next = evaluated
            .last()
            .filter(|_| more)
            .map(|(id, record)| Cursor {
                created: record.created.0.to_string(),
                task: id.clone(),
            });
        Ok((evaluated, next))
    }
}

/// A record that is being changed.
pub(super) struct Change<'a> {
    id: TaskId,
    record: &'a mut Record,
    index: &'a mut Index,
    /// Its index entry.
    before: (TaskStatus, Millis),
}

impl Deref for Change<'_> {
    type Target = Record;

    fn deref(&self) -> &Record {
        self.record
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut Record {
        self.record
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        let (status, created) = self.before;
        if (self.record.status, self.record.created) == self.before {
            return;
        }
        if let Some(entries) = self.index.get_mut(&status) {
            entries.remove(&(created, self.id.clone()));
        }
        let entries = self.index.entry(self.record.status).or_default();
        entries.insert((self.record.created, self.id.clone()));
    }
}
