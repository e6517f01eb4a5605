//! `process-tasks`: one turn of the newest-first loop for each wake-up, with the task runner that
//! `TASK_RUNNER` describes. A binary with a runner of your own differs in this one closure:
//! `examples/custom-runner` shows it.

use lambda::process_tasks;

fn main() -> Result<(), lambda::Error> {
    process_tasks::serve(async |start| Ok(start.configured_runner()?))
}
