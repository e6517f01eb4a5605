//! `freshq wake`: wakes a processor.

use async_trait::async_trait;
use clap::Args;
use lifo_queue::wake;
use serde_json::json;

use super::VerbOnQueue;
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;

/// Wakes a processor, unless one is active or the queue is paused.
#[derive(Debug, Args)]
pub(crate) struct Wake {}

#[async_trait]
impl VerbOnQueue for Wake {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let wake = queue.operator.wake().await?;
        let json = json!({ "wake": name(wake) });
        Ok(Report::new(exit(wake), text(wake), json))
    }
}

pub(super) fn exit(wake: wake::Wake) -> Exit {
    match wake {
        wake::Wake::Paused => Exit::NotAll,
        _ => Exit::Done,
    }
}

/// Describes the outcome of a wake-up.
pub(super) fn text(wake: wake::Wake) -> &'static str {
    match wake {
        wake::Wake::Published => "a processor was notified",
        wake::Wake::AlreadyAwake => "an active processor checks the queue again before it ends",
        wake::Wake::AlreadyNotified => {
            "an earlier notification is on its way to a processor; if no task starts within 10 s, freshq doctor names a setting that prevents it; then run freshq wake again"
        }
        wake::Wake::Paused => "no processor was woken, because the queue is paused",
    }
}

/// Names the outcome of a wake-up for JSON.
pub(super) fn name(wake: wake::Wake) -> &'static str {
    match wake {
        wake::Wake::Published => "published",
        wake::Wake::AlreadyAwake => "alreadyAwake",
        wake::Wake::AlreadyNotified => "alreadyNotified",
        wake::Wake::Paused => "paused",
    }
}
