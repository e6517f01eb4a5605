//! Sends traces to the X-Ray daemon that Lambda runs beside a function with active tracing.

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;

use lifo_queue::time::SystemClock;
use lifo_queue::trace::{TraceSettings, Tracer};

/// Environment variable with the daemon's address, set by Lambda
/// (<https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime>).
const DAEMON: &str = "AWS_XRAY_DAEMON_ADDRESS";

/// Creates the tracer; `None` without settings. If the daemon's address is missing or invalid, the
/// function logs the reason and works without traces.
pub fn tracer(settings: Option<TraceSettings>) -> Option<Arc<Tracer>> {
    let settings = settings?;
    let daemon = env::var(DAEMON).unwrap_or_default();
    let function = env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_default();
    let clock = Arc::new(SystemClock);
    let tracer = match daemon.parse::<SocketAddr>() {
        Ok(address) => Tracer::new(address, clock, function, settings).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    tracer
        .inspect_err(|error| {
            tracing::error!(
                variable = DAEMON,
                value = daemon,
                error,
                "no traces: enable active tracing"
            );
        })
        .ok()
        .map(Arc::new)
}
