//! The store's own limit: two conditional updates for each task from the same client, at the same
//! concurrency, and nothing else.

use std::collections::BTreeMap;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use futures::{StreamExt, TryStreamExt};
use simulator::dynamodb::{TABLE, client};

use crate::process::{Figures, peak_memory_kib};
use crate::{Arguments, Error};

pub(crate) fn measure(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(limit(arguments, address))
}

async fn limit(arguments: &Arguments, address: &str) -> Result<Figures, Error> {
    let client = client(address.parse()?);
    let puts = (0..arguments.tasks).map(|n| put(&client, n));
    futures::stream::iter(puts)
        .buffer_unordered(16)
        .try_collect::<Vec<_>>()
        .await?;

    let started = Instant::now();
    let tasks = (0..arguments.tasks).map(|n| {
        let client = &client;
        async move {
            move_on(client, n, "PENDING", "TAKEN").await?;
            move_on(client, n, "TAKEN", "SUCCESS").await
        }
    });
    let at_once = usize::from(arguments.slots);
    futures::stream::iter(tasks)
        .buffer_unordered(at_once)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(Figures {
        seconds: started.elapsed().as_secs_f64(),
        calls: BTreeMap::from([("update".to_owned(), 2 * arguments.tasks)]),
        peak_memory_kib: peak_memory_kib(),
    })
}

fn id(n: u32) -> AttributeValue {
    AttributeValue::S(format!("limit-{n:06}"))
}

async fn put(client: &Client, n: u32) -> Result<(), Error> {
    client
        .put_item()
        .table_name(TABLE)
        .item("taskId", id(n))
        .item("taskStatus", AttributeValue::S("PENDING".to_owned()))
        .item("taskCreated", AttributeValue::N(n.to_string()))
        .item(
            "payload",
            AttributeValue::S("a payload of the usual size, or so".to_owned()),
        )
        .send()
        .await?;
    Ok(())
}

async fn move_on(client: &Client, n: u32, from: &str, to: &str) -> Result<(), Error> {
    client
        .update_item()
        .table_name(TABLE)
        .key("taskId", id(n))
        .update_expression("SET #status = :to, #updated = :now")
        .condition_expression("#status = :from")
        .return_values(ReturnValue::AllNew)
        .expression_attribute_names("#status", "taskStatus")
        .expression_attribute_names("#updated", "taskUpdated")
        .expression_attribute_values(":from", AttributeValue::S(from.to_owned()))
        .expression_attribute_values(":to", AttributeValue::S(to.to_owned()))
        .expression_attribute_values(":now", AttributeValue::N("1".to_owned()))
        .send()
        .await?;
    Ok(())
}
