//! `freshq breaker`: opens and closes the circuit breaker manually.

use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lifo_queue::control::Control;
use lifo_queue::time::Millis;
use lifo_queue::wake::Wake;
use serde_json::json;

use super::{VerbOnQueue, wake};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Result;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format::{exact, parse_duration, rough};

/// Opens the circuit breaker temporarily: only probes start, one at a time. No result closes it
/// before that time; afterwards the next result does. Replaces an earlier time and reason.
#[derive(Debug, Args)]
pub(crate) struct Open {
    /// The shortest time that it stays open, for example 30m
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// The reason, for other operators
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: String,
}

/// Closes the circuit breaker, whether an operator or a processor opened it, and wakes the queue,
/// unless it is paused.
#[derive(Debug, Args)]
pub(crate) struct Close {}

#[async_trait]
impl VerbOnQueue for Open {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        queue.operator.open_breaker(self.time, &self.reason).await?;
        // Report the stored hold, because operators and processors act on it.
        let control = queue.store.control().await?;
        let now = queue.clock.now();
        let hold = control.held_breaker(now);
        let json = json!({
            "open": hold.is_some(),
            "heldUntil": hold.map(|hold| exact(hold.until)),
            "reason": hold.map(|hold| &hold.reason),
        });
        Ok(match held(&control, now) {
            Some(held) => Report::done(
                format!(
                    "the circuit breaker is {held}\nonly probes start, one at a time; freshq breaker close closes it"
                ),
                json,
            ),
            None => Report::new(
                Exit::NotAll,
                "not open: another operator closed it at the same time",
                json,
            ),
        })
    }
}

#[async_trait]
impl VerbOnQueue for Close {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let wake = queue.operator.close_breaker().await?;
        let then = match wake {
            Wake::Paused => "the queue is still paused, and freshq resume ends the pause",
            wake => wake::text(wake),
        };
        Ok(Report::done(
            format!("the circuit breaker is closed; {then}"),
            json!({ "closed": true, "wake": wake::name(wake) }),
        ))
    }
}

/// Formats an operator's hold as text: its end, the remaining time and the reason.
pub(super) fn held(control: &Control, now: Millis) -> Option<String> {
    let hold = control.held_breaker(now)?;
    let left = rough(hold.until.since(now));
    let (until, reason) = (exact(hold.until), &hold.reason);
    Some(format!("held open until {until}, {left} left: {reason}"))
}
