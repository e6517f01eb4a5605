//! A Runtime API that gives one function one event after the other
//! (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

use crate::Error;

const TIMEOUT: Duration = Duration::from_secs(300);

type Response = Result<Value, String>;

pub(crate) struct RuntimeApi {
    pub(crate) address: String,
    events: mpsc::Sender<String>,
    responses: mpsc::Receiver<Response>,
}

struct Shared {
    events: Mutex<mpsc::Receiver<String>>,
    responses: mpsc::Sender<Response>,
}

impl RuntimeApi {
    pub(crate) async fn start() -> Result<Self, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (events, queued) = mpsc::channel(1);
        let (response, responses) = mpsc::channel(1);
        let shared = Arc::new(Shared {
            events: Mutex::new(queued),
            responses: response,
        });
        let invocation = "/2018-06-01/runtime/invocation";
        let routes = Router::new()
            .route(&format!("{invocation}/next"), get(next))
            .route(&format!("{invocation}/{{id}}/{{how}}"), post(done))
            .layer(DefaultBodyLimit::disable())
            .with_state(shared);
        tokio::spawn(async { axum::serve(listener, routes).await });
        Ok(Self {
            address,
            events,
            responses,
        })
    }

    pub(crate) async fn invoke(&mut self, event: String) -> Result<Value, Error> {
        self.events.send(event).await?;
        let response = self.responses.recv().await;
        Ok(response.ok_or("the Runtime API ended")??)
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let event = shared.events.lock().await.recv().await;
    let deadline = SystemTime::now() + TIMEOUT;
    let deadline = deadline.duration_since(SystemTime::UNIX_EPOCH);
    let deadline = deadline.unwrap_or_default().as_millis().to_string();
    let headers: HeaderMap = [
        ("lambda-runtime-aws-request-id", "bench".to_owned()),
        ("lambda-runtime-deadline-ms", deadline),
        ("lambda-runtime-trace-id", "Root=1-bench".to_owned()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
    .collect();
    match event {
        Some(event) => (StatusCode::OK, headers, event),
        None => (StatusCode::GONE, headers, String::new()),
    }
}

async fn done(
    State(shared): State<Arc<Shared>>,
    Path((_, how)): Path<(String, String)>,
    body: Bytes,
) -> StatusCode {
    let text = || String::from_utf8_lossy(&body).into_owned();
    let response = match how.as_str() {
        "response" => serde_json::from_slice(&body).map_err(|_| text()),
        _ => Err(text()),
    };
    match shared.responses.send(response).await {
        Ok(()) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::GONE,
    }
}
