//! Finding tasks by status, age and last error. Reads are bounded.

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value};

use super::Operator;
use crate::schema;
use crate::store::{Candidate, Cursor, Order, PageQuery, StoreError};
use crate::task::{TaskId, TaskStatus};
use crate::time::Millis;

/// Items read at once.
const READS_AT_ONCE: usize = 16;

/// The most entries of the index in one read: each may cost the read of its item.
const PAGE: usize = 100;

/// The most reads of the index. Expired tasks fill pages without an entry.
const MAX_PAGES: u32 = 200;

/// Which tasks to find, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// In this status.
    pub status: TaskStatus,
    /// Created at this moment or later; `None` for all.
    pub created_from: Option<Millis>,
    /// Behind this place; `None` from the newest on.
    pub after: Option<Cursor>,
    /// With this text in the last error; `None` for all.
    pub error: Option<String>,
    /// The most tasks in the answer.
    pub limit: usize,
    /// The most items to read.
    pub max_items: usize,
}

/// The tasks that were found, and what it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Newest first.
    pub tasks: Vec<FoundTask>,
    /// Reads of the index.
    pub pages: u32,
    /// Items read, strongly consistent: one read unit for each 4 KB.
    pub items: usize,
    /// Where to go on; `None` if no further task may match.
    pub next: Option<Cursor>,
}

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTask {
    /// Its id.
    pub id: TaskId,
    /// When it was created.
    pub created: Millis,
    /// All attributes by their names in the table.
    pub attributes: Map<String, Value>,
}

impl Operator {
    /// Finds tasks, with all attributes. A task whose status changed since the index showed it is
    /// left out.
    ///
    /// # Errors
    /// [`StoreError`]: the table could not be read.
    pub async fn find(&self, find: &Find) -> Result<Found, StoreError> {
        let mut found = Found {
            next: find.after.clone(),
            ..Found::default()
        };
        loop {
            let left = (find.limit - found.tasks.len()).min(find.max_items - found.items);
            if left == 0 || found.pages == MAX_PAGES {
                return Ok(found);
            }
            let query = PageQuery {
                status: find.status.into(),
                order: Order::NewestFirst,
                created_from: find.created_from,
                after: found.next.take(),
                // Every page is used to its end, so that the next one begins where it ends.
                limit: u16::try_from(left.min(PAGE)).unwrap_or(u16::MAX),
                now: self.clock.now(),
            };
            let page = self.store.pending_page(&query).await?;
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
            if found.next.is_none() {
                return Ok(found);
            }
        }
    }

    /// All attributes of a task; `None` if there is none with this id.
    ///
    /// # Errors
    /// [`StoreError`]: the table could not be read.
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

impl FoundTask {
    fn matches(&self, find: &Find) -> bool {
        let is = |status: &str| status == find.status.to_string();
        let error = self.text(schema::LAST_ERROR).unwrap_or_default();
        self.text(schema::TASK_STATUS).is_some_and(is)
            && find
                .error
                .as_deref()
                .is_none_or(|text| error.contains(text))
    }

    /// A text attribute.
    #[must_use]
    pub fn text(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute)?.as_str()
    }

    /// A whole number.
    #[must_use]
    pub fn number(&self, attribute: &str) -> Option<i64> {
        self.attributes.get(attribute)?.as_i64()
    }
}
