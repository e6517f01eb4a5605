//! Tests of `create` with a fake create-tasks function.

use std::sync::Mutex;

use lifo_queue::task::GroupName;
use serde_json::{Value, json};

use super::*;

/// Records the events and responds as create-tasks does.
#[derive(Default)]
struct Creates {
    events: Mutex<Vec<Value>>,
    /// Index of the first event that fails, starting at 0; all later events fail too.
    fails_at: Option<usize>,
}

#[async_trait]
impl Function for Creates {
    async fn send(&self, event: &str) -> Result<Value> {
        let event: Value = serde_json::from_str(event).unwrap();
        let mut events = self.events.lock().unwrap();
        if self.fails_at.is_some_and(|at| events.len() >= at) {
            return Err(Failure::Function {
                function: "create-tasks".to_owned(),
                source: "Rate exceeded".into(),
            });
        }
        events.push(event.clone());
        let count = event["simulate"]["count"].as_u64().unwrap_or(0);
        let tasks = event["tasks"].as_array().cloned().unwrap_or_default();
        let simulated = (0..count).map(|n| json!({ "index": n, "taskId": format!("fresh-{n}") }));
        let (mut created, mut failed) = (simulated.collect::<Vec<_>>(), vec![]);
        for (index, task) in tasks.iter().enumerate() {
            match task["ttlSeconds"] == json!(-1) {
                true => failed.push(json!({ "index": index, "error": "field ttlSeconds is -1" })),
                false => created.push(json!({ "index": index, "taskId": task["taskId"] })),
            }
        }
        Ok(json!({ "created": created, "duplicates": [], "failed": failed }))
    }
}

fn world(fails_at: Option<usize>) -> (World, Arc<Creates>) {
    let function = Arc::new(Creates {
        fails_at,
        ..Creates::default()
    });
    let mut world = World::start();
    world.creates = Some(function.clone());
    (world, function)
}

#[tokio::test(start_paused = true)]
async fn one_task_is_created_from_the_arguments() {
    let (mut world, function) = world(None);
    let one = Create {
        payload: Some("{\"a\": 1}".to_owned()),
        id: Some("order-1".to_owned()),
        ttl: Some(HOUR),
        delay: Some(Duration::from_secs(60)),
        ..Create::default()
    };
    world.done(&one, "created: 1 (order-1)").await;
    let task = json!({ "payload": { "a": 1 }, "taskId": "order-1", "ttlSeconds": 3_600, "delaySeconds": 60 });
    assert_eq!(
        *function.events.lock().unwrap(),
        [json!({ "tasks": [task] })]
    );
    let of_tenant = Create {
        payload: Some("1".to_owned()),
        group: Some(GroupName::new("acme").unwrap()),
        ..Create::default()
    };
    world.run(&of_tenant).await.unwrap();
    let sent = function.events.lock().unwrap().pop().unwrap();
    assert_eq!(sent["tasks"][0]["group"], json!("acme"));
    assert!(sent["tasks"][0]["taskId"].is_string(), "{sent}");
    let malformed = Create {
        payload: Some("{a}".to_owned()),
        ..Create::default()
    };
    let failure = world.run(&malformed).await.unwrap_err();
    begins(&failure.line(), "--payload: ");
    assert_eq!(failure.exit(), Exit::Usage);
}

#[tokio::test(start_paused = true)]
async fn file_is_sent_in_batches_and_failed_tasks_are_named_by_line_number() {
    let (mut world, function) = world(None);
    let file = std::env::temp_dir().join(format!("freshq-{}.jsonl", uuid::Uuid::new_v4()));
    let lines: Vec<_> = (1..=1_200)
        .map(|n| match n {
            700 => "{\"ttlSeconds\": -1}".to_owned(),
            n => format!("{{\"payload\": {n}}}"),
        })
        .collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let from_file = Create {
        file: Some(file.clone()),
        ..Create::default()
    };
    let report = world.run(&from_file).await.unwrap();
    let text = "created: 1199; not created: 1\nline 700: field ttlSeconds is -1";
    assert_eq!((report.text.as_str(), report.exit), (text, Exit::NotAll));
    let first = std::mem::take(&mut *function.events.lock().unwrap());
    assert_eq!(first.len(), 3);
    world.run(&from_file).await.unwrap();
    assert_eq!(
        *function.events.lock().unwrap(),
        first,
        "a repetition sends the same ids"
    );
    std::fs::remove_file(&file).unwrap();
    let failure = world.run(&from_file).await.unwrap_err();
    assert_eq!(failure.exit(), Exit::Failed);
}

#[tokio::test(start_paused = true)]
async fn simulated_tasks_are_counted_and_failures_reported() {
    let (mut world, _) = world(Some(2));
    let simulate = |count| Create {
        simulate: Some(count),
        ..Create::default()
    };
    world.done(&simulate(700), "created: 700").await;
    let report = world.run(&simulate(10)).await.unwrap();
    assert_eq!(report.exit, Exit::Failed);
    let stopped = "stopped: the invocation of create-tasks failed";
    has(&report.text, stopped);
    world.creates = None;
    let failure = world.run(&simulate(1)).await.unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
}
