//! `process-tasks`: runs one turn of the newest-first loop per wake-up, with the task runner that
//! `TASK_RUNNER` describes. A binary with your own runner differs only in this closure, as
//! `examples/custom-runner` shows.

use functions::process_tasks;

fn main() -> Result<(), functions::Error> {
    process_tasks::serve(async |start| Ok(start.configured_runner()?))
}
