use super::*;
use crate::dynamodb::{AGENT_TABLE, agent_table};
use agent_queue::schema::{PK, SK};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};

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

/// Returns the cancellation reason codes. Empty if the transaction succeeded.
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

fn started(latency: Latency) -> (Conflicts, Client, Client) {
    let engine = Engine::start().unwrap();
    engine.create_table(agent_table()).unwrap();
    let conflicts = Conflicts::new(latency);
    let (one, other) = (conflicts.client_of(&engine), conflicts.client_of(&engine));
    (conflicts, one, other)
}

#[tokio::test(start_paused = true)]
async fn transaction_conflict_is_rejected_and_names_the_item() {
    let (conflicts, one, other) = started(SLOW);
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

#[tokio::test(start_paused = true)]
async fn transactions_on_different_items_or_in_sequence_do_not_conflict() {
    let (conflicts, one, other) = started(SLOW);
    let (first, second) = tokio::join!(
        transact(&one, vec![put("a"), put("b")]),
        transact(&other, vec![put("c"), put("d")]),
    );
    let third = transact(&other, vec![put("a"), delete("b")]).await;
    assert_eq!([first, second, third].concat(), Vec::<String>::new());
    assert_eq!(conflicts.take_figures().all_conflicts(), 0);
}

#[tokio::test(start_paused = true)]
async fn rejected_transaction_writes_and_locks_nothing() {
    let (_, one, other) = started(SLOW);
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

#[tokio::test(start_paused = true)]
async fn single_write_conflicts_with_a_transaction_but_a_plain_read_does_not() {
    let (conflicts, one, other) = started(SLOW);
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
    let (done, write, read, range) = tokio::join!(
        transact(&one, vec![put("a")]),
        write.send(),
        read.send(),
        range.send(),
    );
    assert!(done.is_empty());
    let error = write.unwrap_err().into_service_error();
    assert!(error.is_transaction_conflict_exception(), "{error:?}");
    assert!(read.is_ok() && range.is_ok());
    let figures = conflicts.take_figures();
    let rejected: Vec<_> = figures.conflicts.keys().map(String::as_str).collect();
    assert_eq!(rejected, ["PutItem"]);
}

#[tokio::test(start_paused = true)]
async fn transactional_read_conflicts_with_a_write_before_or_during_it_but_not_with_a_read() {
    let conflicts = Conflicts::new(SLOW);
    let item = || ("p".to_owned(), "a".to_owned());
    let request = |operation, keys| conflicts.carry_out(operation, keys, async {});
    let read = || request("TransactGetItems", vec![item(), ("p".into(), "b".into())]);
    let rejected = Err(Rejected::Conflict(vec![true, false]));
    for write in ["TransactWriteItems", "UpdateItem", "BatchWriteItem"] {
        let (result, written) = tokio::join!(read(), request(write, vec![item()]));
        assert_eq!(
            (&result, &written),
            (&rejected, &Ok(())),
            "{write} during the read"
        );
    }
    let (written, result) = tokio::join!(request("TransactWriteItems", vec![item()]), read());
    assert_eq!((written, result), (Ok(()), rejected));
    assert_eq!(tokio::join!(read(), read()), (Ok(()), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn abandoned_request_locks_nothing() {
    let (conflicts, one, other) = started(SLOW);
    let abandoned = transact(&one, vec![put("a")]);
    let abandoned = tokio::time::timeout(Duration::from_millis(1), abandoned).await;
    assert!(abandoned.is_err());
    assert!(transact(&other, vec![put("a")]).await.is_empty());
    assert_eq!(conflicts.take_figures().all_conflicts(), 0);
}

#[tokio::test(start_paused = true)]
async fn transactions_and_strongly_consistent_reads_cost_twice_as_much() {
    let (conflicts, client, _) = started(Latency::default());
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
    let figures = conflicts.take_figures();
    assert_eq!(figures.write_units(), 1.0);
    assert_eq!(figures.units["GetItem"], 0.5 + 1.0);
    assert_eq!(figures.calls["GetItem"], 2);
}
