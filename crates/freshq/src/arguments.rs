//! The command line.

use clap::{Args, Parser, Subcommand};

use crate::queue::QueueArguments;
use crate::report::Format;
use crate::verbs::{Cancel, Close, Open, Pause, Redrive, Resume, Status, VerbOnQueue, Wake};

/// Operates a newest-first task queue.
///
/// Region and credentials come from where the AWS CLI takes them: AWS_PROFILE, AWS_REGION, keys
/// in the environment, a single sign-on. Exit code 0: done; 1: something that was asked for was
/// not done, and the answer says why; 2: an error.
#[derive(Debug, Parser)]
#[command(name = "freshq", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show pending, running and failed tasks, the processor, a pause and the circuit breaker
    Status(On<Status>),
    /// Pause the queue; running tasks finish
    Pause(On<Pause>),
    /// End a pause, and wake the queue
    Resume(On<Resume>),
    /// Open the circuit breaker for a while, or close it and wake the queue
    #[command(subcommand)]
    Breaker(BreakerVerb),
    /// Retry failed tasks: attempts from 0, a new expiry, their old place in age
    Redrive(On<Redrive>),
    /// Delete pending tasks
    Cancel(On<Cancel>),
    /// Wake a processor, unless one is active or the queue is paused
    Wake(On<Wake>),
}

/// What can be done with the circuit breaker.
#[derive(Debug, Subcommand)]
pub(crate) enum BreakerVerb {
    /// Open it for a while: only probes start
    Open(On<Open>),
    /// Close it, and wake the queue
    Close(On<Close>),
}

/// A verb's own arguments, and those that all verbs have.
#[derive(Debug, Args)]
pub(crate) struct On<V: Args> {
    #[command(flatten)]
    verb: V,
    #[command(flatten)]
    common: Common,
}

/// What all verbs have.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) queue: QueueArguments,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Common options")]
    pub(crate) output: Format,
}

impl Verb {
    /// The verb, and what all verbs have.
    pub(crate) fn parts(&self) -> (&dyn VerbOnQueue, &Common) {
        match self {
            Self::Status(on) => on.parts(),
            Self::Pause(on) => on.parts(),
            Self::Resume(on) => on.parts(),
            Self::Breaker(BreakerVerb::Open(on)) => on.parts(),
            Self::Breaker(BreakerVerb::Close(on)) => on.parts(),
            Self::Redrive(on) => on.parts(),
            Self::Cancel(on) => on.parts(),
            Self::Wake(on) => on.parts(),
        }
    }
}

impl<V: Args + VerbOnQueue> On<V> {
    fn parts(&self) -> (&dyn VerbOnQueue, &Common) {
        (&self.verb, &self.common)
    }
}

#[cfg(test)]
mod tests;
