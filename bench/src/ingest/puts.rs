//! Measures the database's own limit with only conditional puts of items of a task's size.

use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, TryStreamExt};
use simulator::dynamodb::{TABLE, client};
use uuid::Uuid;

use crate::process::{Figures, peak_memory_kib};
use crate::{Arguments, Error};

pub(crate) fn measure(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(puts(arguments, address))
}

async fn puts(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let client = client(address.parse()?);
    let started = Instant::now();
    futures::stream::iter((0..arguments.tasks).map(|n| put(&client, n)))
        .buffer_unordered(arguments.slots.into())
        .try_collect::<Vec<_>>()
        .await?;
    Ok(Figures {
        seconds: started.elapsed().as_secs_f64(),
        calls: [("put".to_owned(), arguments.tasks)].into(),
        peak_memory_kib: peak_memory_kib(),
    })
}

async fn put(client: &Client, n: u32) -> Result<(), Error> {
    let text = |text: String| AttributeValue::S(text);
    let number = |number: i64| AttributeValue::N(number.to_string());
    let reading = [i64::from(n), 2, 3].map(number).to_vec();
    let payload = [
        ("device".to_owned(), text(format!("d-{n}"))),
        ("reading".to_owned(), AttributeValue::L(reading)),
    ];
    client
        .put_item()
        .table_name(TABLE)
        .item("taskId", text(format!("00000000-0000-4000-8000-{n:012}")))
        .item("taskStatus", text("PENDING".to_owned()))
        .item("taskCreated", number(1_800_000_000_000))
        .item("taskUpdated", number(1_800_000_000_000))
        .item("ttl", number(1_800_003_600))
        .item("attempts", number(0))
        .item("totalAttempts", number(0))
        .item("createToken", text(Uuid::new_v4().to_string()))
        .item("payload", AttributeValue::M(payload.into()))
        .condition_expression("attribute_not_exists(taskId)")
        .send()
        .await?;
    Ok(())
}
