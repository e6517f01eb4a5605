//! Traces of sampled tasks, recorded in AWS X-Ray.
//!
//! A sampled task has its own trace, with a segment for its creation and one per run. Requests
//! made in a segment are its subsegments. The item and the runner's requests carry the
//! [`TraceHeader`]. Each segment links to the invocation that recorded it.
//!
//! Code in a traced invocation finds its segment in a [`tokio::task_local!`]. Without a [`Tracer`],
//! there is no segment: no attribute is written and nothing is recorded. `docs/how-to/traces.md`
//! shows what X-Ray receives.

mod calls;
mod header;
mod span;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::{fmt, io};

use serde::Deserialize;
use serde_json::Value;

pub use self::calls::{TRACE_ID_HEADER, TRACEPARENT_HEADER, Traced};
pub use self::header::{InvalidTraceHeader, TraceHeader};
#[cfg(test)]
pub(crate) use self::span::MAX_CALLS;
use self::span::{Place, Span};
use crate::settings::share;
use crate::time::{Clock, Millis};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceSettings {
    /// Share of new tasks that have a trace, from 0 to 1.
    #[serde(deserialize_with = "share")]
    pub sampled_tasks: f64,
}

/// Records segments and sends them to the X-Ray daemon over UDP. A lost datagram loses one segment
/// but causes no delay.
pub struct Tracer {
    socket: UdpSocket,
    clock: Arc<dyn Clock>,
    function: String,
    settings: TraceSettings,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

impl Tracer {
    /// A tracer that sends to the daemon at this address.
    ///
    /// # Errors
    /// If the operating system can't provide a socket.
    pub fn new(
        daemon: SocketAddr,
        clock: Arc<dyn Clock>,
        function: impl Into<String>,
        settings: TraceSettings,
    ) -> io::Result<Self> {
        let any = match daemon {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        socket.connect(daemon)?;
        let function = function.into();
        Ok(Self {
            socket,
            clock,
            function,
            settings,
        })
    }

    /// Sends a document in the daemon's format: a header, a line feed and the document.
    fn send(&self, document: &Value) {
        let datagram = format!("{{\"format\":\"json\",\"version\":1}}\n{document}");
        if let Err(error) = self.socket.send(datagram.as_bytes()) {
            tracing::debug!(%error, bytes = datagram.len(), "an X-Ray segment was not sent");
        }
    }
}

#[derive(Clone)]
struct Context {
    span: Arc<Span>,
    /// Id of a new trace to which requests belong instead of the segment's trace, if any.
    fresh_root: Option<String>,
}

impl Context {
    /// Starts a segment in another trace, with a link to this one.
    fn caused(&self, place: Place) -> Span {
        let span = Span::start(&self.span.tracer, place);
        if let Some(cause) = self.span.header() {
            span.link(&cause);
        }
        span
    }
}

tokio::task_local! {
    static CURRENT: Option<Context>;
}

fn current() -> Option<Context> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// Sends the segment when its work is completed or dropped.
struct Finish(Arc<Span>);

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Runs work in the given segment, if there is one.
async fn within<F: Future>(span: Option<Span>, work: F) -> F::Output {
    let span = span.map(Arc::new);
    let _finish = span.clone().map(Finish);
    let context = span.map(|span| Context {
        span,
        fresh_root: None,
    });
    CURRENT.scope(context, work).await
}

/// Runs the work of an invocation with this trace header. Without a tracer, nothing is recorded.
pub async fn invocation<F: Future>(
    tracer: Option<&Arc<Tracer>>,
    header: Option<&str>,
    work: F,
) -> F::Output {
    let place = || match header.and_then(|header| header.parse().ok()) {
        Some(header) => Place::Invocation(header),
        None => Place::Nowhere,
    };
    within(tracer.map(|tracer| Span::start(tracer, place())), work).await
}

/// Links the invocation to its cause in another trace. Has no effect without a tracer, or if the
/// header is invalid.
pub fn caused_by(header: &str) {
    if let (Some(context), Ok(cause)) = (current(), header.parse()) {
        context.span.link(&cause);
    }
}

/// The header for work that the current segment causes; `None` if its trace is not recorded.
pub(crate) fn here() -> Option<TraceHeader> {
    current()?.span.header()
}

/// The header of a new task, if it is sampled.
pub(crate) fn sample(now: Millis) -> Option<TraceHeader> {
    let share = current()?.span.tracer.settings.sampled_tasks;
    (fastrand::f64() < share).then(|| TraceHeader::fresh(now))
}

/// Runs the work that creates a task in the first segment of the task's trace, if it has one.
pub(crate) async fn creation<F: Future>(
    task: &str,
    header: Option<&TraceHeader>,
    work: F,
) -> F::Output {
    let place = header.map(|header| Place::Creation(header.clone()));
    let span = place.zip(current()).map(|(place, context)| {
        let span = context.caused(place);
        span.annotate("task_id", task.into());
        span
    });
    within(span, work).await
}

/// Runs an attempt at a task in a segment. Whether the task is sampled is known only after the
/// take. The segment links to the caller's segment, even if the work runs in another tokio task.
pub(crate) fn attempt<F: Future>(work: F) -> impl Future<Output = F::Output> {
    within(current().map(|context| context.caused(Place::Later)), work)
}

/// Assigns the attempt's segment to the trace of the taken task.
pub(crate) fn taken(task: &str, attempt: u32, header: Option<&TraceHeader>) {
    if let Some(Context { span, .. }) = current() {
        span.annotate("task_id", task.into());
        span.annotate("attempt", attempt.into());
        span.place(header.map_or(Place::Nowhere, |header| Place::Run(header.clone())));
    }
}

/// Records the runner's response.
pub(crate) fn responded(response: &'static str) {
    if let Some(context) = current() {
        context.span.annotate("response", response.into());
    }
}

/// Runs work in the caller's segment, even if it runs in another tokio task.
pub(crate) fn inherited<F: Future>(work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(current(), work)
}

/// Runs work whose requests start a new trace.
pub(crate) async fn fresh<F: Future>(now: Millis, work: F) -> F::Output {
    let context = current().map(|context| Context {
        fresh_root: Some(header::fresh_root(now)),
        ..context
    });
    CURRENT.scope(context, work).await
}
