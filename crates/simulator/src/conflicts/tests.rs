use super::*;
use crate::dynamodb::{AGENT_TABLE, start_for_agents};
use agent_queue::schema::{PK, SK};
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Get, Put, TransactGetItem, TransactWriteItem,
};

const SLOW: Latency = Latency {
    plain: Duration::from_millis(20),
    transaction: Duration::from_millis(20),
};

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn put(sort: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(AGENT_TABLE)
        .item(PK, text("p"))
        .item(SK, text(sort))
        .item("size", text(&"x".repeat(100)));
    TransactWriteItem::builder()
        .put(put.build().unwrap())
        .build()
}

fn delete(sort: &str) -> TransactWriteItem {
    let delete = Delete::builder()
        .table_name(AGENT_TABLE)
        .key(PK, text("p"))
        .key(SK, text(sort));
    TransactWriteItem::builder()
        .delete(delete.build().unwrap())
        .build()
}

/// The codes of the cancellation reasons; empty if the transaction succeeded.
async fn transact(client: &Client, actions: Vec<TransactWriteItem>) -> Vec<String> {
    let request = client
        .transact_write_items()
        .set_transact_items(Some(actions));
    let Err(error) = request.send().await else {
        return vec![];
    };
    match error.into_service_error() {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => cancelled
            .cancellation_reasons()
            .iter()
            .map(|reason| reason.code().unwrap_or_default().to_owned())
            .collect(),
        other => panic!("{other:?}"),
    }
}

async fn read_together(client: &Client, sort: &str) -> bool {
    let get = Get::builder()
        .table_name(AGENT_TABLE)
        .key(PK, text("p"))
        .key(SK, text(sort));
    let get = TransactGetItem::builder().get(get.build().unwrap()).build();
    let response = client.transact_get_items().transact_items(get).send().await;
    match response.map_err(|error| error.into_service_error()) {
        Ok(_) => true,
        Err(TransactGetItemsError::TransactionCanceledException(cancelled)) => {
            let codes = cancelled.cancellation_reasons().iter();
            let codes: Vec<_> = codes.map(|reason| reason.code()).collect();
            assert_eq!(codes, [Some("TransactionConflict")]);
            false
        }
        Err(other) => panic!("{other:?}"),
    }
}

async fn started(latency: Latency) -> (Conflicts, Client, Client) {
    let dynamo = start_for_agents().await.unwrap();
    let conflicts = Conflicts::new(latency);
    let (one, other) = (
        conflicts.client(dynamo.address),
        conflicts.client(dynamo.address),
    );
    (conflicts, one, other)
}

#[tokio::test]
async fn transaction_conflict_is_rejected_and_names_the_item() {
    let (conflicts, one, other) = started(SLOW).await;
    let (first, second) = tokio::join!(
        transact(&one, vec![put("a"), put("b")]),
        transact(&other, vec![put("c"), delete("b")]),
    );
    assert_eq!(first, Vec::<String>::new());
    assert_eq!(second, ["None", "TransactionConflict"]);
    let figures = conflicts.take_figures();
    assert_eq!((figures.all_calls(), figures.all_conflicts()), (2, 1));
    assert_eq!(conflicts.take_figures(), Figures::default());
}

#[tokio::test]
async fn transactions_on_different_items_or_in_sequence_do_not_conflict() {
    let (conflicts, one, other) = started(SLOW).await;
    let (first, second) = tokio::join!(
        transact(&one, vec![put("a"), put("b")]),
        transact(&other, vec![put("c"), put("d")]),
    );
    let third = transact(&other, vec![put("a"), delete("b")]).await;
    assert_eq!([first, second, third].concat(), Vec::<String>::new());
    assert_eq!(conflicts.take_figures().all_conflicts(), 0);
}

#[tokio::test]
async fn rejected_transaction_writes_and_locks_nothing() {
    let (_, one, other) = started(SLOW).await;
    let (_, second) = tokio::join!(
        transact(&one, vec![put("a")]),
        transact(&other, vec![put("a"), put("free")]),
    );
    assert_eq!(second, ["TransactionConflict", "None"]);
    let free = other.get_item().table_name(AGENT_TABLE);
    let free = free.key(PK, text("p")).key(SK, text("free"));
    assert!(free.send().await.unwrap().item.is_none());
    assert!(transact(&one, vec![put("free")]).await.is_empty());
}

#[tokio::test]
async fn failed_condition_is_not_a_conflict() {
    let (conflicts, client, _) = started(Latency::default()).await;
    let write = client.put_item().table_name(AGENT_TABLE);
    let write = write.item(PK, text("p")).item(SK, text("a"));
    let write = write.condition_expression("attribute_exists(pk)");
    assert!(write.send().await.is_err());
    let figures = conflicts.take_figures();
    assert_eq!(figures.rejected["PutItem"], 1);
    assert_eq!((figures.all_calls(), figures.all_conflicts()), (1, 0));
}

#[tokio::test]
async fn single_write_conflicts_with_a_transaction_but_a_plain_read_does_not() {
    let (conflicts, one, other) = started(SLOW).await;
    let key = || [(PK, text("p")), (SK, text("a"))].map(|(name, value)| (name.to_owned(), value));
    let write = other
        .put_item()
        .table_name(AGENT_TABLE)
        .set_item(Some(key().into()));
    let read = other
        .get_item()
        .table_name(AGENT_TABLE)
        .set_key(Some(key().into()));
    let range = other
        .query()
        .table_name(AGENT_TABLE)
        .key_condition_expression("pk = :pk")
        .expression_attribute_values(":pk", text("p"));
    let (done, write, read, range, together) = tokio::join!(
        transact(&one, vec![put("a")]),
        write.send(),
        read.send(),
        range.send(),
        read_together(&other, "a"),
    );
    assert!(done.is_empty());
    let error = write.unwrap_err().into_service_error();
    assert!(error.is_transaction_conflict_exception(), "{error:?}");
    assert!(read.is_ok() && range.is_ok() && !together);
    let figures = conflicts.take_figures();
    let rejected: Vec<_> = figures.conflicts.keys().map(String::as_str).collect();
    assert_eq!(rejected, ["PutItem", "TransactGetItems"]);
}

#[tokio::test]
async fn transactional_read_conflicts_with_a_write_but_not_with_a_read() {
    let (_, one, other) = started(SLOW).await;
    let write = one.put_item().table_name(AGENT_TABLE);
    let write = write.item(PK, text("p")).item(SK, text("a"));
    let (write, read) = tokio::join!(write.send(), read_together(&other, "a"));
    assert!(write.is_ok() && !read);
    let (first, second) = tokio::join!(read_together(&one, "a"), read_together(&other, "a"));
    assert!(first && second);
}

#[tokio::test]
async fn transactional_read_fails_if_a_write_starts_during_it() {
    let (conflicts, one, other) = started(SLOW).await;
    let (read, written) = tokio::join!(
        read_together(&one, "a"),
        transact(&other, vec![put("a"), put("b")]),
    );
    assert!(!read && written.is_empty());
    let (read, written) = tokio::join!(read_together(&one, "a"), transact(&other, vec![put("b")]),);
    assert!(read && written.is_empty());
    assert_eq!(conflicts.take_figures().all_conflicts(), 1);
}

#[tokio::test]
async fn abandoned_request_locks_nothing() {
    let (conflicts, one, other) = started(SLOW).await;
    let abandoned = transact(&one, vec![put("a")]);
    let abandoned = tokio::time::timeout(Duration::from_millis(1), abandoned).await;
    assert!(abandoned.is_err());
    assert!(transact(&other, vec![put("a")]).await.is_empty());
    assert_eq!(conflicts.take_figures().all_conflicts(), 0);
}

#[tokio::test]
async fn a_transaction_costs_twice_as_much_and_so_does_a_strong_read() {
    let (conflicts, client, _) = started(Latency::default()).await;
    assert!(transact(&client, vec![put("a"), put("b")]).await.is_empty());
    let figures = conflicts.take_figures();
    assert_eq!((figures.write_units(), figures.read_units()), (4.0, 0.0));

    let write = client.put_item().table_name(AGENT_TABLE);
    let write = write.item(PK, text("p")).item(SK, text("a"));
    write.send().await.unwrap();
    let read = |strong| {
        let read = client.get_item().table_name(AGENT_TABLE);
        read.key(PK, text("p"))
            .key(SK, text("a"))
            .consistent_read(strong)
    };
    read(false).send().await.unwrap();
    read(true).send().await.unwrap();
    assert!(read_together(&client, "a").await);
    let figures = conflicts.take_figures();
    assert_eq!(figures.write_units(), 1.0);
    assert_eq!(figures.units["GetItem"], 0.5 + 1.0);
    assert_eq!(figures.units["TransactGetItems"], 2.0);
    assert_eq!(figures.calls["GetItem"], 2);
}
