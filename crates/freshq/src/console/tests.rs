//! Tests of the console over real connections, on the in-memory store.

mod access;
mod changes;
mod pages;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{ControlStore, QueueStore};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::{Clock, Millis};
use serde_json::{Value, json};
use simulator::topics::Topics;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::account::{Account, Caller};
use crate::function::Function;
use crate::verbs::Fake;

const NOW: Millis = Millis(1_800_000_000_000);

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Millis {
        NOW
    }
}

/// A fake desk with one queue, one pending call and one agent.
struct Desk;

#[async_trait]
impl Function for Desk {
    async fn send(&self, event: &str) -> Result<Value> {
        let event: Value = serde_json::from_str(event).unwrap();
        Ok(match event["command"].as_str() {
            Some("queues") => json!({
                "queues": [{ "queue": "Q#Spanish#M", "depth": 2, "version": 7 }],
                "pending": [{ "criteria": "Basque#F", "depth": 3 }],
            }),
            Some("calls") => json!({
                "calls": [{ "callId": "call-7", "criteria": "Basque#F", "pendingMs": 61_000 }],
            }),
            _ => {
                json!({ "agents": [{ "agentId": "ana", "name": "Ana Ruiz", "status": "queued" }], "next": "ana" })
            }
        })
    }
}

/// A running console and its store.
struct World {
    store: Arc<MemoryStore>,
    token: String,
    port: u16,
}

/// An HTTP response: the status code and the whole response as text.
struct Answer {
    status: u16,
    text: String,
}

fn site(store: Arc<dyn QueueStore>, changes: bool) -> Site {
    let name = "LifoQueue-dev".to_owned();
    let (topics, clock) = (Arc::<Topics>::default(), Arc::new(Standing));
    let queue = Queue::new(name, Caller::example(), store, topics, clock);
    let agents = AgentsQueue {
        name: "AgentQueue-dev".to_owned(),
        desk: Arc::new(Desk),
        deployed: Arc::new(Fake::healthy()),
    };
    Site::new(
        queue,
        Account::example(),
        Ok(agents),
        Arc::new(Access::new(changes)),
        Duration::from_secs(3),
    )
}

impl World {
    async fn start(changes: bool) -> Self {
        let store = Arc::<MemoryStore>::default();
        Self::serve(store.clone(), site(store, changes)).await
    }

    async fn serve(store: Arc<MemoryStore>, site: Site) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let token = site.access.token().to_owned();
        tokio::spawn(axum::serve(listener, router(Arc::new(site))).into_future());
        Self { store, token, port }
    }

    fn put(&self, id: &str, status: TaskStatus, age: u64, error: Option<&str>) {
        let ttl = Ttl::Seconds(NOW.ceil_seconds().plus(Duration::from_secs(3_600)));
        let record = Record {
            status,
            last_error: error.map(str::to_owned),
            payload: Some(json!({ "order": id })),
            ..Record::pending(NOW.minus(Duration::from_secs(age)), ttl)
        };
        self.store.put(TaskId::from_stored(id), record);
    }

    fn status(&self, id: &str) -> Option<TaskStatus> {
        let record = self.store.record(&TaskId::from_stored(id));
        record.map(|record| record.status)
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a request with this head and body and returns the response.
    async fn send(&self, head: &str, body: &str) -> Answer {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))
            .await
            .unwrap();
        let request = format!(
            "{head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).await.unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, text }
    }

    async fn get(&self, page: &str) -> Answer {
        let head = format!(
            "GET /{}/{page} HTTP/1.1\r\nhost: {}",
            self.token,
            self.host()
        );
        self.send(&head, "").await
    }

    /// Requests a page and expects these texts in the response.
    async fn page(&self, page: &str, texts: &[&str]) -> Answer {
        let answer = self.get(page).await;
        answer.expect(200, texts);
        answer
    }

    /// Requests a page and expects this error status and text.
    async fn rejects(&self, page: &str, status: u16, says: &str) {
        self.get(page).await.expect(status, &[says]);
    }

    /// Sends a form and expects a redirect to another page after the change.
    async fn done(&self, page: &str, form: &str) -> Answer {
        let answer = self.post(page, form).await;
        answer.expect(303, &[]);
        answer
    }

    /// Sends a form in the same way as a page of the console.
    async fn post(&self, page: &str, form: &str) -> Answer {
        let (token, host) = (&self.token, self.host());
        let kind = "application/x-www-form-urlencoded";
        let head = format!(
            "POST /{token}/{page} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncontent-type: {kind}"
        );
        self.send(&head, form).await
    }
}

impl Answer {
    fn expect(&self, status: u16, texts: &[&str]) {
        assert_eq!(self.status, status, "{}", self.text);
        for text in texts {
            assert!(self.text.contains(text), "no {text} in\n{}", self.text);
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let head = self.text.split("\r\n\r\n").next().unwrap();
        let prefix = format!("{name}: ");
        head.lines().find_map(|line| line.strip_prefix(&prefix))
    }
}
