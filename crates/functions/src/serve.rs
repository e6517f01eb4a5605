//! The runtime loop of a function, from process start to the handler.

use std::future::Future;
use std::io;
use std::sync::Arc;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use lifo_queue::trace::{self, Tracer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::diagnostics::Failure;
use crate::telemetry;

/// Handles the events of a function.
///
/// An event can be any JSON, as a parsed [`Value`] or as text. The handler parses it, so that the
/// error for a malformed event can name the invalid field.
#[allow(
    async_fn_in_trait,
    reason = "the runtime loop neither boxes handlers nor sends them"
)]
pub trait Handler {
    /// [`Value`], or [`RawValue`](serde_json::value::RawValue) if parsing could change a number.
    type Event: for<'de> Deserialize<'de>;
    /// The type of the response, which is sent as JSON.
    type Response: Serialize;

    /// Handles one event. A returned error is logged and reported to Lambda with its type and all
    /// its sources.
    async fn handle(
        &self,
        event: Self::Event,
        context: lambda_runtime::Context,
    ) -> Result<Self::Response, Failure>;

    /// Returns the tracer that records the requests of each invocation; `None` without traces.
    fn tracer(&self) -> Option<&Arc<Tracer>> {
        None
    }
}

/// Serves events for as long as Lambda keeps the process, on a runtime with `threads` worker
/// threads.
///
/// `start` runs once, before the first event. It creates only the configuration and the clients. If
/// it fails, every invocation fails with the same error, so that the error reaches the caller, the
/// on-failure destination and the alarms. If the process exited instead, they would see only its
/// exit status.
///
/// # Errors
/// If the operating system cannot provide threads, or requests to the runtime API fail.
pub fn serve<H: Handler>(
    threads: usize,
    start: impl Future<Output = Result<H, Failure>>,
) -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    runtime(threads)?.block_on(async {
        match start.await {
            Ok(handler) => {
                let handler = &handler;
                let handle = |event: LambdaEvent<H::Event>| async move {
                    let header = event.context.xray_trace_id.clone();
                    let work = handler.handle(event.payload, event.context);
                    trace::invocation(handler.tracer(), header.as_deref(), work).await
                };
                lambda_runtime::run(service_fn(handle)).await
            }
            Err(failure) => {
                tracing::error!(?failure, "the function cannot start");
                let reject = |_: LambdaEvent<Value>| {
                    let failure = failure.clone();
                    async { Err::<(), Diagnostic>(failure.into()) }
                };
                lambda_runtime::run(service_fn(reject)).await
            }
        }
    })
}

fn runtime(threads: usize) -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
}
