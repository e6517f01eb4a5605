//! A queue on the embedded DynamoDB. The tests write its items directly.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use conformance::{RETENTION, database};
use lifo_queue::backoff::Backoff;
use lifo_queue::process::{Invocation, ProcessSettings, Processor, TurnSummary};
use lifo_queue::runner::{Outcome, TaskRunner};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::sweep::{SweepReport, SweepSettings, Sweeper};
use lifo_queue::task::Task;
use lifo_queue::time::{Clock, Millis, SystemClock};
use lifo_queue::wake::Waker;
use simulator::dynamodb::TABLE;
use simulator::topics::Topics;

#[derive(Default)]
pub(crate) struct Remembering {
    pub(crate) ran: Mutex<Vec<Task>>,
}

#[async_trait]
impl TaskRunner for Remembering {
    async fn run(&self, task: &Task) -> Outcome {
        self.ran.lock().unwrap().push(task.clone());
        Outcome::Success
    }
}

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) store: Arc<DynamoStore>,
    pub(crate) topics: Arc<Topics>,
    pub(crate) runner: Arc<Remembering>,
    pub(crate) now: Millis,
}

pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

pub(crate) fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

impl World {
    pub(crate) async fn start() -> Self {
        let client = database().client();
        Self {
            store: Arc::new(DynamoStore::new(client.clone(), TABLE)),
            client,
            topics: Arc::default(),
            runner: Arc::default(),
            now: SystemClock.now(),
        }
    }

    /// Puts an item with the three required attributes and additional attributes.
    pub(crate) async fn put(&self, id: &str, created: i64, more: &[(&str, AttributeValue)]) {
        let mut item = HashMap::from([
            ("taskId".to_owned(), text(id)),
            ("taskStatus".to_owned(), text("PENDING")),
            ("taskCreated".to_owned(), number(self.now.0 + created)),
        ]);
        let more = more.iter().cloned();
        item.extend(more.map(|(name, value)| (name.to_owned(), value)));
        let put = self.client.put_item().table_name(TABLE);
        put.set_item(Some(item)).send().await.unwrap();
    }

    pub(crate) async fn item(&self, id: &str) -> HashMap<String, AttributeValue> {
        let get = self.client.get_item().table_name(TABLE);
        let get = get.key("taskId", text(id)).consistent_read(true);
        get.send().await.unwrap().item.unwrap()
    }

    pub(crate) async fn ttl(&self, id: &str) -> i64 {
        self.item(id).await["ttl"].as_n().unwrap().parse().unwrap()
    }

    pub(crate) async fn status(&self, id: &str) -> String {
        self.item(id).await["taskStatus"].as_s().unwrap().clone()
    }

    pub(crate) fn ran(&self, id: &str) -> Option<Task> {
        let ran = self.runner.ran.lock().unwrap();
        ran.iter().find(|task| task.task_id.as_str() == id).cloned()
    }

    pub(crate) async fn turn(&self) -> TurnSummary {
        let settings = ProcessSettings {
            turn: Duration::from_secs(20),
            task_timeout: Duration::from_secs(5),
            deadline_margin: Duration::from_secs(1),
            slots: 4,
            breaker: None,
            backoff: Backoff {
                base: Duration::from_secs(1),
                max: Duration::from_secs(2),
            },
            index_lag: Duration::ZERO,
            max_idle_turns: 3,
            retention: RETENTION,
            ..*simulator::deployed::PROCESS_TASKS
        };
        let clock = Arc::new(SystemClock);
        let (store, runner) = (self.store.clone(), self.runner.clone());
        let processor = Processor::new(store, self.topics.clone(), runner, clock, settings);
        let invocation = Invocation {
            message_id: "m1".into(),
            deadline: None,
        };
        processor.turn(invocation).await.unwrap()
    }

    pub(crate) async fn sweep(&self, event: &str) -> SweepReport {
        self.sweep_on(self.store.clone(), event).await
    }

    pub(crate) async fn sweep_on(&self, store: Arc<DynamoStore>, event: &str) -> SweepReport {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let marker = Duration::from_secs(10);
        let waker = Waker::new(store.clone(), self.topics.clone(), clock.clone(), marker);
        let settings = SweepSettings {
            backoff: Backoff {
                base: Duration::ZERO,
                max: Duration::ZERO,
            },
            failure_retention: RETENTION.failure,
            ..simulator::deployed::sweep(&simulator::deployed::PROCESS_TASKS)
        };
        Sweeper::new(store, waker, clock, settings)
            .sweep(event)
            .await
            .unwrap()
    }
}
