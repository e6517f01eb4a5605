//! The response to the caller of `create-tasks`.

use functions::Failure;
use lifo_queue::create::CreateReport;
use serde::Serialize;

use crate::http::HttpResponse;

/// A report for a direct caller, an HTTP response for a caller through a gateway.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Response {
    Report(CreateReport),
    Http(HttpResponse),
}

/// A simulation's schedule does not read the report, so missing tasks must fail the invocation.
#[derive(Debug, thiserror::Error)]
#[error(
    "{failed} of {count} simulated tasks were not created; the first, at index {index}: {error}"
)]
struct SimulationFailed {
    failed: usize,
    count: usize,
    index: usize,
    error: String,
}

impl Response {
    /// Returns the report, or an error if a simulation did not create every task.
    pub(crate) fn to_invoker(report: CreateReport, simulated: bool) -> Result<Self, Failure> {
        match report.failed.first() {
            Some(first) if simulated => Err(SimulationFailed {
                failed: report.failed.len(),
                count: report.created.len() + report.failed.len(),
                index: first.index,
                error: first.error.clone(),
            }
            .into()),
            _ => Ok(Self::Report(report)),
        }
    }
}
