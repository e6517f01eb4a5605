//! What a function says of itself: logs, metrics and traces.

pub mod metrics;
pub mod traces;

use lambda_runtime::tracing::subscriber::EnvFilter;
use lambda_runtime::tracing::subscriber::filter::LevelFilter;

/// Logs to standard output, one line an event, by Lambda's advanced logging controls: as JSON
/// if `AWS_LAMBDA_LOG_FORMAT` says so, from the level in `AWS_LAMBDA_LOG_LEVEL` upwards (`INFO`
/// otherwise; `RUST_LOG` may raise single targets). Each line carries the invocation's request
/// id and X-Ray trace id, by the runtime's span.
///
/// The runtime's own `init_default_subscriber` leaves the timestamp out, and Lambda takes a line
/// without one for `INFO` whatever its level says, so that a function set to `WARN` would lose
/// its errors
/// (<https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html>).
pub(crate) fn init() {
    let level = level().parse().unwrap_or(LevelFilter::INFO);
    let filter = EnvFilter::builder()
        .with_default_directive(level.into())
        .from_env_lossy();
    let lines = lambda_runtime::tracing::subscriber::fmt()
        .with_target(false)
        .with_ansi(false)
        .with_env_filter(filter);
    let json = std::env::var("AWS_LAMBDA_LOG_FORMAT")
        .is_ok_and(|format| format.eq_ignore_ascii_case("json"));
    // An error means that a subscriber is installed already, which stays.
    let _installed = if json {
        lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .try_init()
    } else {
        lines.try_init()
    };
}

/// The function's configured level.
fn level() -> String {
    std::env::var("AWS_LAMBDA_LOG_LEVEL").unwrap_or_else(|_| "INFO".to_owned())
}
