use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

fn table() -> (Table, UnboundedReceiver<Change>) {
    let (sender, changes) = unbounded_channel();
    (Table::open(None, sender).unwrap(), changes)
}

fn item(id: &str, status: &str) -> Value {
    json!({
        "taskId": {"S": id},
        "taskStatus": {"S": status},
        "taskCreated": {"N": "1800000000000"},
    })
}

fn put(table: &Table, item: &Value) {
    let request = json!({"TableName": TABLE, "Item": item});
    let (status, body) = table.execute("PutItem", &request.to_string());
    assert_eq!(status, 200, "{body}");
}

fn changed(changes: &mut UnboundedReceiver<Change>) -> Vec<(String, bool, bool, Cause)> {
    std::iter::from_fn(|| changes.try_recv().ok())
        .map(|change| {
            let (before, after) = (!change.before.is_null(), !change.after.is_null());
            (change.id, before, after, change.cause)
        })
        .collect()
}

#[test]
fn each_write_reports_the_old_and_the_new_item() {
    let (table, mut changes) = table();
    let key = json!({"taskId": {"S": "a"}});
    put(&table, &item("a", "PENDING"));
    let update = json!({
        "TableName": TABLE, "Key": key, "UpdateExpression": "SET taskStatus = :s",
        "ExpressionAttributeValues": {":s": {"S": "TAKEN"}},
    });
    table.execute("UpdateItem", &update.to_string());
    let update = changes.try_recv().unwrap();
    assert_eq!(update.before, Value::Null);
    let update = changes.try_recv().unwrap();
    assert_eq!(update.before, item("a", "PENDING"));
    assert_eq!(update.after, item("a", "TAKEN"));
    let delete = json!({"TableName": TABLE, "Key": key});
    table.execute("DeleteItem", &delete.to_string());
    assert_eq!(
        changed(&mut changes),
        [("a".to_owned(), true, false, Cause::Write)]
    );
}

#[test]
fn batches_and_transactions_report_each_changed_item() {
    let (table, mut changes) = table();
    let batch = json!({"RequestItems": {TABLE: [
        {"PutRequest": {"Item": item("a", "PENDING")}},
        {"PutRequest": {"Item": item("b", "PENDING")}},
        {"DeleteRequest": {"Key": {"taskId": {"S": "missing"}}}},
    ]}});
    let (status, body) = table.execute("BatchWriteItem", &batch.to_string());
    assert_eq!(status, 200, "{body}");
    let transaction = json!({"TransactItems": [
        {"Put": {"TableName": TABLE, "Item": item("c", "PENDING")}},
        {"Delete": {"TableName": TABLE, "Key": {"taskId": {"S": "a"}}}},
    ]});
    let (status, body) = table.execute("TransactWriteItems", &transaction.to_string());
    assert_eq!(status, 200, "{body}");
    let write = |id: &str, before, after| (id.to_owned(), before, after, Cause::Write);
    assert_eq!(
        changed(&mut changes),
        [
            write("a", false, true),
            write("b", false, true),
            write("c", false, true),
            write("a", true, false),
        ]
    );
}

#[test]
fn rejected_writes_reads_and_unchanged_items_report_nothing() {
    let (table, mut changes) = table();
    put(&table, &item("a", "PENDING"));
    changed(&mut changes);
    put(&table, &item("a", "PENDING"));
    let conditional = json!({
        "TableName": TABLE, "Item": item("a", "TAKEN"),
        "ConditionExpression": "attribute_not_exists(taskId)",
    });
    let (status, body) = table.execute("PutItem", &conditional.to_string());
    assert!(
        status == 400 && body.contains("ConditionalCheckFailed"),
        "{body}"
    );
    let named = json!({"TableName": TABLE}).to_string();
    for operation in ["Scan", "DescribeTable", "ListTables", "Unknown"] {
        let (status, body) = table.execute(operation, &named);
        assert_eq!(status == 200, operation != "Unknown", "{body}");
    }
    assert_eq!(table.execute("PutItem", "no JSON").0, 400);
    assert_eq!(changed(&mut changes), []);
}

#[test]
fn items_expire_after_their_time_to_live() {
    let (table, mut changes) = table();
    let at = |id: &str, ttl: i64| {
        let mut item = item(id, "PENDING");
        item["ttl"] = json!({"N": ttl.to_string()});
        item
    };
    let now = 1_800_000_000;
    put(&table, &at("past", now - 1));
    put(&table, &at("now", now));
    put(&table, &at("ancient", now - OLDEST_TTL));
    put(&table, &item("without", "PENDING"));
    changed(&mut changes);
    table.expire(EpochSeconds(now));
    assert_eq!(
        changed(&mut changes),
        [("past".to_owned(), true, false, Cause::Expiry)]
    );
}

#[test]
fn folder_persists_the_table_and_allows_one_process() {
    let folder = std::env::temp_dir().join(format!("freshq-{}", uuid::Uuid::new_v4()));
    let open = || Table::open(Some(&folder), unbounded_channel().0);
    let first = open().unwrap();
    put(&first, &item("a", "PENDING"));
    let mut expiring = item("b", "PENDING");
    expiring["ttl"] = json!({"N": "1800000000.5"});
    put(&first, &expiring);
    let in_use = open().err().unwrap();
    assert!(matches!(in_use, OpenError::InUse(_)), "{in_use}");
    drop(first);
    let again = open().unwrap();
    again.expire(EpochSeconds(1_800_000_001));
    assert_eq!(again.image("b"), expiring);
    again.expire(EpochSeconds(1_800_000_002));
    assert_eq!(again.image("b"), Value::Null);
    assert_eq!(again.image("a"), item("a", "PENDING"));
    drop(again);
    fs::remove_dir_all(folder).unwrap();
}
