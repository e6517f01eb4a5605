//! Runtimes of the measurements.

use tokio::runtime::Builder;

use crate::Error;

/// Runs the work with tokio's clock paused.
pub(crate) fn in_virtual_time<T>(
    seed: u64,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    // This seed determines the jitter of retries.
    fastrand::seed(seed);
    let mut runtime = Builder::new_current_thread();
    runtime
        .enable_time()
        .start_paused(true)
        .build()?
        .block_on(work)
}
