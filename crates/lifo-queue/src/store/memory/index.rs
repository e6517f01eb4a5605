//! The index in memory: the tasks of a status, ordered by `taskCreated`.

use std::collections::BTreeMap;

use super::{Record, State};
use crate::store::{Cursor, Order, PageQuery, StoreError};
use crate::task::TaskId;
use crate::time::Millis;

/// The entries of a page, and the cursor for the next page.
type Entries = (Vec<(TaskId, Record)>, Option<Cursor>);

impl State {
    pub(super) fn page(&self, query: &PageQuery) -> Result<Entries, StoreError> {
        query.check()?;
        let partition = self
            .tasks
            .iter()
            .filter(|(_, r)| r.status == query.status.status)
            .filter(|(_, r)| query.created_from.is_none_or(|from| r.created >= from));
        let index: BTreeMap<(Millis, &TaskId), &Record> = partition
            .map(|(id, record)| ((record.created, id), record))
            .collect();
        let entries: Box<dyn Iterator<Item = _>> = match query.order {
            Order::NewestFirst => Box::new(index.into_iter().rev()),
            Order::OldestFirst => Box::new(index.into_iter()),
        };
        let after = query.after.as_ref().map(|at| (at.created(), &at.task));
        let mut rest = entries.skip_while(|(key, _)| match (after, query.order) {
            (None, _) => false,
            (Some(after), Order::NewestFirst) => *key >= after,
            (Some(after), Order::OldestFirst) => *key <= after,
        });
        let evaluated: Vec<_> = rest
            .by_ref()
            .take(usize::from(query.limit))
            .map(|((_, id), record)| (id.clone(), record.clone()))
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
