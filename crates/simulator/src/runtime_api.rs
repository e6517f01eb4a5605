//! The Lambda Runtime API for one function process
//! (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>).

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc};

const TIMEOUT: Duration = Duration::from_secs(300);

/// Result that the function posts: `response` or `error`, and the body.
pub type Posted = (String, Value);

pub struct RuntimeApi {
    /// Host and port of the server.
    pub address: String,
    events: mpsc::Sender<String>,
    posted: mpsc::Receiver<Posted>,
}

struct Shared {
    events: Mutex<mpsc::Receiver<String>>,
    posted: mpsc::Sender<Posted>,
}

impl RuntimeApi {
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (events, queued) = mpsc::channel(1);
        let (post_to, posted) = mpsc::channel(1);
        let shared = Arc::new(Shared {
            events: Mutex::new(queued),
            posted: post_to,
        });
        let invocation = "/2018-06-01/runtime/invocation";
        let routes = Router::new()
            .route(&format!("{invocation}/next"), get(next))
            .route(&format!("{invocation}/request-1/{{end}}"), post(done))
            .layer(DefaultBodyLimit::disable())
            .with_state(shared);
        tokio::spawn(async { axum::serve(listener, routes).await });
        Ok(Self {
            address,
            events,
            posted,
        })
    }

    /// Invokes the function with this event. Fails if the server has stopped.
    pub async fn invoke(&mut self, event: String) -> io::Result<Posted> {
        let ended = || io::Error::other("the Runtime API ended");
        self.events.send(event).await.map_err(|_| ended())?;
        self.posted.recv().await.ok_or_else(ended)
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let event = shared.events.lock().await.recv().await;
    let deadline = (SystemTime::now() + TIMEOUT).duration_since(SystemTime::UNIX_EPOCH);
    let deadline = deadline.unwrap_or_default().as_millis().to_string();
    let headers = [
        ("lambda-runtime-aws-request-id", "request-1".to_owned()),
        ("lambda-runtime-deadline-ms", deadline),
        ("lambda-runtime-trace-id", "Root=1-trace".to_owned()),
    ];
    match event {
        Some(event) => Ok((headers, event)),
        None => Err(StatusCode::GONE),
    }
}

/// Receives the result of an invocation. A body that is not JSON is passed on as text.
async fn done(
    State(shared): State<Arc<Shared>>,
    Path(end): Path<String>,
    body: String,
) -> StatusCode {
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    match shared.posted.send((end, body)).await {
        Ok(()) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::GONE,
    }
}

/// Starts a process of the function, invokes it once, and returns the result and its log.
pub async fn invoke(
    binary: &str,
    environment: &[(&str, &str)],
    event: &Value,
) -> io::Result<(Posted, Vec<Value>)> {
    let mut api = RuntimeApi::start().await?;
    let mut function = Command::new(binary)
        .env_clear()
        .envs([
            ("AWS_LAMBDA_RUNTIME_API", &*api.address),
            ("AWS_LAMBDA_FUNCTION_NAME", "function"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
            ("AWS_REGION", "eu-west-1"),
        ])
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let posted = api.invoke(event.to_string()).await?;
    function.start_kill()?;
    let output = function.wait_with_output().await?;
    let log = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    Ok((posted, log.collect::<Result<_, _>>()?))
}
