//! `freshq breaker`: opens and closes the circuit breaker by hand.

use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lifo_queue::control::Control;
use lifo_queue::time::Millis;
use lifo_queue::wake::Wake;
use serde_json::{Value, json};

use super::{VerbOnQueue, wake};
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;
use crate::time_format::{exact, parse_duration, rough};

/// Opens the circuit breaker for a while: only probes start, one at a time. No result closes it
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
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        queue.operator.open_breaker(self.time, &self.reason).await?;
        // Reports the stored hold, because operators and processors act on it.
        let control = queue.store.control().await?;
        let now = queue.clock.now();
        Ok(Box::new(Opened { now, control }))
    }
}

#[async_trait]
impl VerbOnQueue for Close {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        let wake = queue.operator.close_breaker().await?;
        Ok(Box::new(Closed { wake }))
    }
}

/// The outcome of opening the circuit breaker, with the control item read afterwards.
#[derive(Debug)]
struct Opened {
    now: Millis,
    control: Control,
}

impl Report for Opened {
    fn exit(&self) -> Exit {
        match self.control.held_breaker(self.now) {
            Some(_) => Exit::Done,
            None => Exit::NotAll,
        }
    }

    fn text(&self) -> String {
        match held(&self.control, self.now) {
            Some(held) => format!(
                "the circuit breaker is {held}\nonly probes start, one at a time; freshq breaker close ends it"
            ),
            None => "not open: another operator closed it at the same time".to_owned(),
        }
    }

    fn json(&self) -> Value {
        let held = self.control.held_breaker(self.now);
        json!({
            "open": held.is_some(),
            "heldUntil": held.map(|hold| exact(hold.until)),
            "reason": held.map(|hold| &hold.reason),
        })
    }
}

/// The circuit breaker was closed; `wake` is the outcome of the wake-up.
#[derive(Debug)]
struct Closed {
    wake: Wake,
}

impl Report for Closed {
    fn exit(&self) -> Exit {
        Exit::Done
    }

    fn text(&self) -> String {
        let then = match self.wake {
            Wake::Paused => "the queue is still paused, and freshq resume ends the pause",
            wake => wake::text(wake),
        };
        format!("the circuit breaker is closed; {then}")
    }

    fn json(&self) -> Value {
        json!({ "closed": true, "wake": wake::name(self.wake) })
    }
}

/// The hold of an operator, for people: its end, the remaining time and the reason.
pub(super) fn held(control: &Control, now: Millis) -> Option<String> {
    let hold = control.held_breaker(now)?;
    let left = rough(hold.until.since(now));
    let (until, reason) = (exact(hold.until), &hold.reason);
    Some(format!("held open until {until}, {left} left: {reason}"))
}
