//! Tests on a stack with a task queue, a dead-letter queue and a failure queue.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::deployed::Stack;
use crate::exit::Exit;

const NOW: Millis = Millis(1_800_000_000_000);

/// A stack with these messages in queue `dead` and one message in `tasks`. Records all changes.
#[derive(Default)]
struct Fake(Vec<Message>, Mutex<Vec<String>>);

impl Fake {
    fn note(&self, change: String) {
        self.1.lock().unwrap().push(change);
    }
}

#[async_trait]
impl Deployed for Fake {
    async fn stack(&self) -> Result<Stack> {
        let dead = json!({ "Fn::GetAtt": ["dead", "Arn"] });
        let failed = json!({ "Fn::GetAtt": ["failed", "Arn"] });
        let template = json!({ "Resources": {
            "tasks": { "Type": "AWS::SQS::Queue", "Properties": { "RedrivePolicy": { "deadLetterTargetArn": dead } } },
            "dead": { "Type": "AWS::SQS::Queue", "Properties": {} },
            "failed": { "Type": "AWS::SQS::Queue", "Properties": {} },
            "invocation": { "Type": "AWS::Lambda::EventInvokeConfig", "Properties": {
                "FunctionName": { "Ref": "function" }, "DestinationConfig": { "OnFailure": { "Destination": failed } },
            } },
        }});
        let ids = ["tasks", "dead", "failed"];
        let ids = ids.map(|name| (name.to_owned(), format!("https://sqs/1/the-{name}")));
        Ok(Stack::new(String::new(), &template, ids.into()))
    }

    async fn now(&self, _: Kind, _: &str) -> Result<Option<Value>> {
        Ok(None)
    }

    async fn message(&self, queue: &str, id: &str) -> Result<Option<Message>> {
        let messages = self.messages(queue).await?.into_iter();
        Ok(messages.into_iter().find(|message| message.id == id))
    }

    async fn delete_message(&self, queue: &str, message: &Message) -> Result<()> {
        self.note(format!("delete {} from {queue}", message.id));
        Ok(())
    }

    async fn send_message(&self, queue: &str, message: &Message) -> Result<()> {
        self.note(format!("send {} to {queue}", message.body));
        Ok(())
    }

    async fn invoke(&self, function: &str, event: &str) -> Result<()> {
        self.note(format!("invoke {function} with {event}"));
        Ok(())
    }

    async fn firing(&self, _: &[&str]) -> Result<Vec<String>> {
        panic!("messages reads no alarm")
    }

    async fn repeats_cancelled_transaction(&self, _: &str) -> Result<bool> {
        panic!("messages starts no transaction")
    }

    async fn messages(&self, queue: &str) -> Result<Vec<Message>> {
        Ok(match queue.rsplit_once('/').unwrap().1 {
            "the-dead" => self.0.clone(),
            "the-failed" => vec![],
            _ => vec![Message::default()],
        })
    }
}

fn message(id: &str, seconds_ago: i64, body: &str) -> Message {
    Message {
        id: id.to_owned(),
        sent: Some(Millis(NOW.0 - 1_000 * seconds_ago)),
        attributes: BTreeMap::new(),
        body: body.to_owned(),
        ..Message::default()
    }
}

async fn report(messages: Vec<Message>) -> Report {
    let name = "LifoQueue-dev".to_owned();
    received(name, &Fake(messages, Mutex::default()), NOW)
        .await
        .unwrap()
}

#[tokio::test]
async fn failed_messages_are_shown_with_their_reasons_oldest_first() {
    let mut rejected = message("m-2", 5, "{\"ttl\":0}");
    let reason = ("reason".to_owned(), "ttl: it is 0".to_owned());
    rejected.attributes.extend([reason]);
    let condition = json!({ "condition": "RetriesExhausted" });
    let body =
        json!({ "requestContext": condition, "responsePayload": { "errorMessage": "no table" } });
    let report = report(vec![rejected, message("m-1", 65, &body.to_string())]).await;
    let expected = "\
https://sqs/1/the-dead
messages: 2

sent       2027-01-15T07:58:55.000Z, 1m 5s ago
id         m-1
condition  RetriesExhausted
error      no table
body       {\"requestContext\":{\"condition\":\"RetriesExhausted\"},\"responsePayload\":{\"errorMessage\":\"no table\"}}

sent    2027-01-15T07:59:55.000Z, 5s ago
id      m-2
reason  ttl: it is 0
body    {\"ttl\":0}";
    assert_eq!(report.text, expected);
    assert_eq!(report.exit, Exit::Done);
    let json = report.json;
    assert_eq!(json["queues"].as_array().unwrap().len(), 2);
    let first = &json["queues"][0];
    assert_eq!(first["queue"], "https://sqs/1/the-dead");
    assert_eq!(first["messages"][1]["attributes"]["reason"], "ttl: it is 0");
}

#[tokio::test]
async fn text_output_truncates_long_bodies_and_json_does_not() {
    let body = "ä".repeat(BODY + 1);
    let messages = vec![message("m", 1, &body); 10];
    let report = report(messages).await;
    let text = report.text;
    assert!(text.starts_with("https://sqs/1/the-dead\nmessages: 10 or more\n"));
    let cut = format!("{}… (--output json prints the full body)", "ä".repeat(BODY));
    assert!(text.ends_with(&cut), "{text}");
    assert_eq!(report.json["queues"][0]["messages"][9]["body"], body);
}

#[tokio::test]
async fn empty_queues_are_counted() {
    let text = report(vec![]).await.text;
    assert_eq!(
        text,
        "LifoQueue-dev: no messages in 2 failure and dead-letter queues"
    );
}

#[tokio::test]
async fn a_message_is_deleted_by_its_id() {
    let fake = Fake(vec![message("there", 5, "{}")], Mutex::default());
    let deleted = change::delete(&fake, "there").await.unwrap().report();
    let expected = "message there deleted from https://sqs/1/the-dead";
    assert_eq!(deleted.text, expected);
    assert_eq!(deleted.exit, Exit::Done);
    let missing = change::delete(&fake, "other").await.unwrap().report();
    assert!(missing.text.starts_with("no queue has the message other"));
    assert_eq!(missing.exit, Exit::NotAll);
    let changes = fake.1.into_inner().unwrap();
    assert_eq!(changes, ["delete there from https://sqs/1/the-dead"]);
}

#[tokio::test]
async fn moved_message_is_resent_to_its_source_queue_before_it_is_deleted() {
    let fifo = Message {
        deduplication: Some("call-1".to_owned()),
        ..message("call", 301, "{}")
    };
    let fake = Fake(vec![message("task", 5, "[1]"), fifo], Mutex::default());
    let retried = change::retry(&fake, "task", NOW).await.unwrap().report();
    let expected = "message task sent again to https://sqs/1/the-tasks, and deleted from https://sqs/1/the-dead";
    assert_eq!(retried.text, expected);
    change::retry(&fake, "call", NOW).await.unwrap();
    let expected = [
        "send [1] to https://sqs/1/the-tasks",
        "delete task from https://sqs/1/the-dead",
        "send {} to https://sqs/1/the-tasks",
        "delete call from https://sqs/1/the-dead",
    ];
    assert_eq!(fake.1.into_inner().unwrap(), expected);
}

#[tokio::test]
async fn retry_keeps_rejected_messages_and_recent_fifo_messages() {
    let mut rejected = message("rejected", 400, "{}");
    let reason = ("reason".to_owned(), "ttl: it is 0".to_owned());
    rejected.attributes.extend([reason]);
    let young = Message {
        deduplication: Some("call-1".to_owned()),
        ..message("young", 299, "{}")
    };
    let fake = Fake(vec![rejected, young], Mutex::default());
    for (id, why) in [
        (
            "rejected",
            "rejected again (ttl: it is 0): send a corrected",
        ),
        ("young", "SQS would drop it as a duplicate"),
    ] {
        let failure = change::retry(&fake, id, NOW).await.unwrap_err();
        assert!(failure.line().contains(why), "{}", failure.line());
        assert_eq!(failure.exit(), Exit::Usage);
    }
    assert!(fake.1.into_inner().unwrap().is_empty());
}

#[tokio::test]
async fn failed_invocation_is_retried_with_its_event_as_written() {
    // A parsed number would have other digits.
    let event = r#"{"tasks": [{"payload": [9007199254740993.0, 1e-400]}]}"#;
    let body = format!(
        r#"{{"version": "1.0", "requestContext": {{"functionArn": "create-tasks"}}, "requestPayload": {event}}}"#
    );
    let fake = Fake(vec![], Mutex::default());
    let failed = fake.stack().await.unwrap();
    let queues = failure_queues(&failed);
    let queue = queues
        .iter()
        .find(|queue| queue.logical == "failed")
        .unwrap();
    let failed = message("failed", 5, &body);
    assert!(matches!(
        change::target(&fake.stack().await.unwrap(), queue, &failed, NOW),
        Ok(change::Target::Function(name, sent)) if name == "create-tasks" && sent == event
    ));
}
