//! Finds tasks by status, age and last error. The number of reads is bounded.

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value};

use super::{Operator, error_pattern};
use crate::schema;
use crate::store::{Candidate, Cursor, Order, Page, PageQuery, Seen, StoreError, parse_number};
use crate::task::{GroupName, TaskId, TaskStatus};
use crate::time::Millis;

const READS_AT_ONCE: usize = 16;

/// Maximum number of index entries in one read. Each entry requires a read of its item.
const PAGE: usize = 100;

/// Maximum number of index entries in one read for a group. Filtering by group reads no items.
const GROUP_PAGE: usize = 1_000;

/// Maximum number of index reads in one search for a group.
const GROUP_PAGES: u32 = 20;

/// Maximum number of index reads in one search. Pages with only expired tasks return no tasks.
const MAX_PAGES: u32 = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    pub status: TaskStatus,
    pub order: Order,
    /// Minimum `taskCreated`; `None` for no limit.
    pub created_from: Option<Millis>,
    /// Index position to start after; `None` starts with the first task.
    pub after: Option<Cursor>,
    /// Group of the tasks, as the index shows it; `None` for all groups.
    pub group: Option<GroupName>,
    /// Text that the most recent error or its [pattern](error_pattern) contains; `None` for all tasks.
    pub error: Option<String>,
    /// Text that the payload as JSON contains; `None` for all tasks.
    pub payload: Option<String>,
    /// Maximum number of tasks in the result.
    pub limit: usize,
    pub max_items: usize,
}

impl Find {
    /// Finds up to `limit` of the newest tasks with the given status. Reads at most `limit` items.
    pub fn newest(status: TaskStatus, limit: usize) -> Self {
        Self {
            status,
            order: Order::NewestFirst,
            created_from: None,
            after: None,
            group: None,
            error: None,
            payload: None,
            limit,
            max_items: limit,
        }
    }

    fn most_pages(&self) -> u32 {
        match self.group {
            Some(_) => GROUP_PAGES,
            None => MAX_PAGES,
        }
    }

    /// Keeps up to `most` of the group's tasks on a page. The search continues after the last one.
    fn of_group(&self, mut page: Page, most: usize) -> Page {
        let Some(group) = &self.group else {
            return page;
        };
        page.candidates
            .retain(|task| task.id.group() == group.as_str());
        if page.candidates.len() > most {
            page.candidates.truncate(most);
            let last = page.candidates.last();
            page.next = last.map(|task| Cursor::at(task.created, task.id.clone()));
        }
        page
    }

    /// Whether finding matches requires reading the items.
    fn reads_items(&self) -> bool {
        self.error.is_some() || self.payload.is_some()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub tasks: Vec<FoundTask>,
    pub pages: u32,
    /// Number of items read with strong consistency. Each item costs one read unit per 4 KB.
    pub items: usize,
    /// Index position from which to continue; `None` if no further task can match.
    pub next: Option<Cursor>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundTask {
    pub id: TaskId,
    pub created: Millis,
    /// All attributes, by their names in the table.
    pub attributes: Map<String, Value>,
}

impl Operator {
    /// Finds tasks and returns all their attributes. Omits a task whose status changed after the
    /// index read.
    pub async fn find(&self, find: &Find) -> Result<Found, StoreError> {
        let mut found = Found {
            next: find.after.clone(),
            ..Found::default()
        };
        loop {
            let (results, items) = (find.limit - found.tasks.len(), find.max_items - found.items);
            if results.min(items) == 0 || found.pages == find.most_pages() {
                return Ok(found);
            }
            // If matching reads no items, a page has only as many entries as the result needs.
            // Otherwise, few tasks may match, so the page is as large as possible.
            let read = match find.reads_items() {
                true => items,
                false => results.min(items),
            };
            let limit = match find.group {
                Some(_) => GROUP_PAGE,
                None => read.min(PAGE),
            };
            let query = PageQuery {
                status: find.status.into(),
                order: find.order,
                created_from: find.created_from,
                after: found.next.take(),
                limit: u16::try_from(limit).unwrap_or(u16::MAX),
                now: self.clock.now(),
            };
            let page = find.of_group(self.store.pending_page(&query).await?, read);
            found.pages += 1;
            found.items += page.candidates.len();
            let tasks: Vec<Option<FoundTask>> = stream::iter(page.candidates)
                .map(|candidate| self.read(candidate))
                .buffered(READS_AT_ONCE)
                .try_collect()
                .await?;
            let matching = tasks
                .into_iter()
                .flatten()
                .filter(|task| task.matches(find));
            found.tasks.extend(matching);
            found.next = page.next;
            found.cut(find.limit);
            if found.next.is_none() {
                return Ok(found);
            }
        }
    }

    /// Returns all attributes of a task; `None` if no task has this id.
    pub async fn show(&self, task: &TaskId) -> Result<Option<Map<String, Value>>, StoreError> {
        self.store.attributes(task).await
    }

    async fn read(&self, candidate: Candidate) -> Result<Option<FoundTask>, StoreError> {
        let attributes = self.store.attributes(&candidate.id).await?;
        Ok(attributes.map(|attributes| FoundTask {
            id: candidate.id,
            created: candidate.created,
            attributes,
        }))
    }
}

impl Found {
    /// Drops tasks beyond `limit`. The search continues after the last remaining task.
    fn cut(&mut self, limit: usize) {
        if self.tasks.len() > limit {
            self.tasks.truncate(limit);
            let last = self.tasks.last();
            self.next = last.map(|task| Cursor::at(task.created, task.id.clone()));
        }
    }
}

impl FoundTask {
    fn matches(&self, find: &Find) -> bool {
        let is = |status: &str| status == find.status.to_string();
        self.text(schema::TASK_STATUS).is_some_and(is)
            && find.error.as_ref().is_none_or(|text| {
                let error = self.text(schema::LAST_ERROR).unwrap_or_default();
                error.contains(text) || error_pattern(error).contains(text)
            })
            && find.payload.as_ref().is_none_or(|text| {
                let payload = self.attributes.get(schema::PAYLOAD);
                payload.is_some_and(|payload| payload.to_string().contains(text))
            })
    }

    /// Returns the state of the task, for a command that must not change a newer one.
    pub fn state(&self) -> Seen {
        if let Some(token) = self.text(schema::CREATE_TOKEN) {
            return Seen::Put(token.to_owned());
        }
        let stored = self.attributes.get(schema::TASK_CREATED);
        let created = stored.and_then(|number| parse_number(&number.to_string()));
        Seen::Created(created.map_or(self.created, Millis))
    }

    /// Returns the value of a text attribute; `None` if it is missing or has another type.
    pub fn text(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute)?.as_str()
    }

    /// Returns the value of a whole-number attribute; `None` if it is missing or has another type.
    pub fn number(&self, attribute: &str) -> Option<i64> {
        self.attributes.get(attribute)?.as_i64()
    }
}
