//! The embedded table. It reports every item change as a DynamoDB stream would, but immediately.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dynoxide::Database;
use embedded_dynamodb::{NotStarted, TABLE, dispatch};
use lifo_queue::schema::{TASK_ID, TTL};
use lifo_queue::time::EpochSeconds;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::change::{Cause, Change};

/// Name of the database file in the `--data` folder.
const DATABASE: &str = "tasks.sqlite";

/// Name of the folder's lock file. The operating system releases the lock even after SIGKILL.
const LOCK: &str = "lock";

/// Maximum age of a `ttl` value, in seconds. DynamoDB does not delete items with an older value.
const OLDEST_TTL: i64 = 5 * 365 * 86_400;

pub struct Table {
    database: Database,
    /// Locked during each write, so that the images before and after the write are exact.
    writes: Mutex<()>,
    changes: UnboundedSender<Change>,
    /// The `ttl` and the id of each item, so that no scan delays the queue.
    expiries: Mutex<BTreeSet<(i64, String)>>,
    _lock: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the folder {0} is in use by another freshq dev: stop it, or name another folder")]
    InUse(PathBuf),
    #[error("could not read or write the folder {folder}")]
    Folder { folder: PathBuf, source: io::Error },
    #[error("the folder or the database in it cannot be used; delete the folder to start empty")]
    Database(#[from] NotStarted),
    #[error("could not read the table: {0}")]
    Scan(String),
}

impl Table {
    /// Opens the table in `folder`, or a new one in memory. Creates a missing folder or table.
    pub fn open(
        folder: Option<&Path>,
        changes: UnboundedSender<Change>,
    ) -> Result<Self, OpenError> {
        let (database, lock) = match folder {
            None => (Database::memory(), None),
            Some(folder) => {
                let lock = lock(folder)?;
                let file = folder.join(DATABASE);
                (Database::new(&file.to_string_lossy()), Some(lock))
            }
        };
        let database = database.map_err(|error| NotStarted::new(&error))?;
        let named = json!({"TableName": TABLE}).to_string();
        let (status, _) = dispatch::call(&database, "DescribeTable", &named);
        if status != 200 {
            dispatch::create_task_table(&database, TABLE)?;
        }
        let table = Self {
            database,
            writes: Mutex::default(),
            changes,
            expiries: Mutex::default(),
            _lock: lock,
        };
        table.read_expiries()?;
        Ok(table)
    }

    /// Executes a request in the DynamoDB protocol. Returns the status code and the body of the
    /// response.
    pub fn execute(&self, operation: &str, body: &str) -> (u16, String) {
        let ids = written(operation, body);
        if ids.is_empty() {
            return dispatch::call(&self.database, operation, body);
        }
        self.write(ids, Cause::Write, operation, body)
    }

    /// Deletes the items whose `ttl` has passed, as DynamoDB Time to Live (TTL) does.
    pub fn expire(&self, now: EpochSeconds) {
        let passed = (now.0 - OLDEST_TTL + 1, String::new())..(now.0, String::new());
        let passed: Vec<_> = self.expiries().range(passed).cloned().collect();
        for (_, id) in passed {
            let delete = json!({
                "TableName": TABLE,
                "Key": {TASK_ID: {"S": id}},
                "ConditionExpression": "#ttl < :now",
                "ExpressionAttributeNames": {"#ttl": TTL},
                "ExpressionAttributeValues": {":now": {"N": now.0.to_string()}},
            });
            self.write(vec![id], Cause::Expiry, "DeleteItem", &delete.to_string());
        }
    }

    /// Reads the `ttl` of every item.
    fn read_expiries(&self) -> Result<(), OpenError> {
        let mut request = json!({
            "TableName": TABLE,
            "ProjectionExpression": "#id, #ttl",
            "ExpressionAttributeNames": {"#id": TASK_ID, "#ttl": TTL},
        });
        loop {
            let (status, page) = dispatch::call(&self.database, "Scan", &request.to_string());
            if status != 200 {
                return Err(OpenError::Scan(page));
            }
            let page: Value = serde_json::from_str(&page).unwrap_or_default();
            let items = page["Items"].as_array().into_iter().flatten();
            self.expiries().extend(items.filter_map(expiry));
            match &page["LastEvaluatedKey"] {
                Value::Null => return Ok(()),
                key => request["ExclusiveStartKey"] = key.clone(),
            }
        }
    }

    fn expiries(&self) -> MutexGuard<'_, BTreeSet<(i64, String)>> {
        self.expiries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a request that may write the items `ids`, and reports each item that it changed.
    fn write(&self, ids: Vec<String>, cause: Cause, operation: &str, body: &str) -> (u16, String) {
        let _exclusive = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let before: Vec<_> = ids.iter().map(|id| self.image(id)).collect();
        let response = dispatch::call(&self.database, operation, body);
        for (id, before) in ids.into_iter().zip(before) {
            let after = self.image(&id);
            if before != after {
                let mut expiries = self.expiries();
                if let Some(earlier) = expiry(&before) {
                    expiries.remove(&earlier);
                }
                expiries.extend(expiry(&after));
                drop(expiries);
                // An error means that the queue, which receives the changes, has stopped.
                let _ended = self.changes.send(Change {
                    id,
                    before,
                    after,
                    cause,
                });
            }
        }
        response
    }

    /// Returns an item in DynamoDB JSON; `Null` if the item does not exist.
    fn image(&self, id: &str) -> Value {
        let request = json!({"TableName": TABLE, "Key": {TASK_ID: {"S": id}}});
        let (_, body) = dispatch::call(&self.database, "GetItem", &request.to_string());
        let mut response: Value = serde_json::from_str(&body).unwrap_or_default();
        response["Item"].take()
    }
}

/// Creates the folder and locks it for this process.
fn lock(folder: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::Folder {
        folder: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let file = File::create(folder.join(LOCK)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Returns the ids of the task-table items that a request may write.
fn written(operation: &str, body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let mut ids = Vec::new();
    let mut add = |table: &Value, item: &Value| {
        if let (true, Some(id)) = (table == TABLE, text(&item[TASK_ID])) {
            ids.push(id);
        }
    };
    match operation {
        "PutItem" => add(&body["TableName"], &body["Item"]),
        "UpdateItem" | "DeleteItem" => add(&body["TableName"], &body["Key"]),
        "BatchWriteItem" => {
            let table = TABLE.into();
            for request in body["RequestItems"][TABLE].as_array().into_iter().flatten() {
                add(&table, &request["PutRequest"]["Item"]);
                add(&table, &request["DeleteRequest"]["Key"]);
            }
        }
        "TransactWriteItems" => {
            for item in body["TransactItems"].as_array().into_iter().flatten() {
                add(&item["Put"]["TableName"], &item["Put"]["Item"]);
                add(&item["Update"]["TableName"], &item["Update"]["Key"]);
                add(&item["Delete"]["TableName"], &item["Delete"]["Key"]);
            }
        }
        _ => {}
    }
    ids
}

/// Returns the `ttl`, rounded up, and the id of an item that has both.
fn expiry(item: &Value) -> Option<(i64, String)> {
    let ttl: f64 = item[TTL]["N"].as_str()?.parse().ok()?;
    Some((ttl.ceil() as i64, text(&item[TASK_ID])?))
}

fn text(value: &Value) -> Option<String> {
    value["S"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
