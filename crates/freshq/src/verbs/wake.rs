//! `freshq wake`: wakes a processor.

use async_trait::async_trait;
use clap::Args;
use lifo_queue::wake;
use serde_json::{Value, json};

use super::VerbOnQueue;
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;

/// Wakes a processor, unless one is active or the queue is paused.
#[derive(Debug, Args)]
pub(crate) struct Wake {}

#[async_trait]
impl VerbOnQueue for Wake {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        let wake = queue.operator.wake().await?;
        Ok(Box::new(WakeUp {
            resumed: false,
            ended: None,
            wake,
        }))
    }
}

/// The outcome of a wake-up, and whether a pause was ended first.
#[derive(Debug)]
pub(super) struct WakeUp {
    pub(super) resumed: bool,
    /// The pause that was ended, for people; `None` if the queue was not paused.
    pub(super) ended: Option<String>,
    pub(super) wake: wake::Wake,
}

impl Report for WakeUp {
    fn exit(&self) -> Exit {
        match self.wake {
            wake::Wake::Paused => Exit::NotAll,
            _ => Exit::Done,
        }
    }

    fn text(&self) -> String {
        match self.resumed {
            true => {
                let ended = self.ended.as_ref();
                let ended = ended.map(|pause| format!("\nthe ended pause: {pause}"));
                format!("resumed: {}{}", text(self.wake), ended.unwrap_or_default())
            }
            false => text(self.wake).to_owned(),
        }
    }

    fn json(&self) -> Value {
        match self.resumed {
            true => json!({ "resumed": true, "wake": name(self.wake) }),
            false => json!({ "wake": name(self.wake) }),
        }
    }
}

/// The outcome of a wake-up, for people.
pub(super) fn text(wake: wake::Wake) -> &'static str {
    match wake {
        wake::Wake::Published => "a processor was notified",
        wake::Wake::AlreadyAwake => "an active processor checks the queue again before it ends",
        wake::Wake::AlreadyNotified => {
            "another event has just notified a processor, and none is active yet; if no task starts, freshq doctor names a setting that stops it; then run freshq wake after 10 s"
        }
        wake::Wake::Paused => "no processor was woken, because the queue is paused",
    }
}

/// The outcome of a wake-up, for programs.
pub(super) fn name(wake: wake::Wake) -> &'static str {
    match wake {
        wake::Wake::Published => "published",
        wake::Wake::AlreadyAwake => "alreadyAwake",
        wake::Wake::AlreadyNotified => "alreadyNotified",
        wake::Wake::Paused => "paused",
    }
}
