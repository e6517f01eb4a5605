//! Logs, metrics and traces of a function.

pub mod metrics;
pub mod traces;

use lambda_runtime::tracing::subscriber::EnvFilter;
use lambda_runtime::tracing::subscriber::filter::LevelFilter;

/// Installs the logger. It writes one line per log event to standard output and follows Lambda's
/// advanced logging controls: JSON if `AWS_LAMBDA_LOG_FORMAT` says so, and the minimum level from
/// `AWS_LAMBDA_LOG_LEVEL` (default: `INFO`; `RUST_LOG` can raise individual targets). The runtime's
/// span adds the invocation's request id and X-Ray trace id to each line.
///
/// The runtime's own `init_default_subscriber` writes no timestamp. Lambda treats a line without a
/// timestamp as `INFO`, whatever its level, so a function set to `WARN` would lose its errors
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
    // An error means that a subscriber is already installed. That subscriber remains in use.
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

/// Returns the log level configured for the function.
fn level() -> String {
    std::env::var("AWS_LAMBDA_LOG_LEVEL").unwrap_or_else(|_| "INFO".to_owned())
}
