//! Agents in the partition in which earlier releases wrote them.

use agent_queue::transaction::agent_key;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, Select};
use simulator::dynamodb::AGENT_TABLE;

use crate::agent_id;

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// Moves the items of these agents to the partition of earlier releases, unless they are there.
///
/// # Panics
/// If DynamoDB returns an error.
pub async fn to_former(client: &Client, agents: impl IntoIterator<Item = impl AsRef<str>>) {
    for id in agents {
        let (pk, sk) = agent_key(&agent_id(id.as_ref()));
        let delete = client.delete_item().table_name(AGENT_TABLE);
        let delete = delete.key("pk", text(pk)).key("sk", text(sk));
        let deleted = delete.return_values(ReturnValue::AllOld).send().await;
        if let Some(mut item) = deleted.expect("a response").attributes {
            item.insert("pk".to_owned(), text("AllAgents"));
            let put = client.put_item().table_name(AGENT_TABLE);
            put.set_item(Some(item)).send().await.expect("a response");
        }
    }
}

/// The number of agents' items in partitions whose names have this prefix.
///
/// # Panics
/// If DynamoDB returns an error.
pub async fn items(client: &Client, prefix: &str) -> i32 {
    let scan = client.scan().table_name(AGENT_TABLE).select(Select::Count);
    let scan = scan
        .filter_expression("begins_with(sk, :agent) AND begins_with(pk, :prefix)")
        .expression_attribute_values(":agent", text("Agent#"))
        .expression_attribute_values(":prefix", text(prefix));
    scan.send().await.expect("a response").count()
}
