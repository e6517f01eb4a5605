//! What can be done: one verb, one file.

mod cancel;
mod pause;
mod redrive;
mod resume;
mod status;
mod task_outcomes;
mod wake;

use async_trait::async_trait;

pub(crate) use self::cancel::Cancel;
pub(crate) use self::pause::Pause;
pub(crate) use self::redrive::Redrive;
pub(crate) use self::resume::Resume;
pub(crate) use self::status::Status;
pub(crate) use self::wake::Wake;
use crate::consent::Person;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// A verb with its arguments.
#[async_trait(?Send)]
pub(crate) trait VerbOnQueue {
    /// Does it. `person` is asked where a verb should not begin unasked.
    ///
    /// # Errors
    /// [`Failure`]: whether it was done is not known, unless the failure says so.
    async fn run(&self, queue: &Queue, person: &mut dyn Person)
    -> Result<Box<dyn Report>, Failure>;
}

#[cfg(test)]
mod tests;
