//! Expressions use attribute names directly, except for names that are DynamoDB reserved words.

use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::AttributeValue;
use conformance::database;
use lifo_queue::schema;
use simulator::dynamodb::TABLE;

/// The attribute names among the schema constants.
fn attributes() -> Vec<&'static str> {
    let source = include_str!("../../../../crates/lifo-queue/src/schema.rs");
    let constants = source.split(": &str = \"").skip(1);
    constants
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| name.chars().all(|c| c.is_ascii_alphabetic()))
        .collect()
}

// Source of the rule:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
#[tokio::test]
async fn only_ttl_and_owner_need_a_placeholder() {
    let client = database().client();
    let mut reserved = Vec::new();
    for name in attributes() {
        let read = client
            .get_item()
            .table_name(TABLE)
            .key(schema::TASK_ID, AttributeValue::S("t".to_owned()))
            .projection_expression(name);
        if let Err(error) = read.send().await {
            let text = DisplayErrorContext(&error).to_string();
            assert!(text.contains("reserved keyword"), "{name}: {text}");
            reserved.push(name);
        }
    }

    assert_eq!(reserved, [schema::TTL, schema::OWNER]);
    assert!(attributes().len() > 30);
}
