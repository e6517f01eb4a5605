//! Operators' circuit breaker commands: hold it open temporarily, or close it.

use super::Breaker;
use crate::control::Control;
use crate::time::Millis;

/// The operators' commands that a turn has read.
#[derive(Debug, Default)]
pub(super) struct Hand {
    /// Number of commands so far.
    commands: u64,
    /// Time until which the last command holds the breaker open; `None` without a hold.
    until: Option<Millis>,
}

impl Breaker {
    /// Reads the commands from the control item. A hold opens the breaker, even if the settings
    /// disable the breaker.
    pub(in crate::process) fn know(&mut self, control: &Control, now: Millis) {
        self.hand.commands = control.breaker_by_hand.commands;
        self.hand.until = control.held_breaker(now).map(|hold| hold.until);
        if self.is_held(now) {
            self.open_at(now, false);
        }
    }

    /// Executes the last command, if this turn has not read it yet.
    pub(in crate::process) fn obey(&mut self, control: &Control, now: Millis) {
        if control.breaker_by_hand.commands == self.hand.commands {
            return;
        }
        self.know(control, now);
        if !self.is_held(now) {
            self.close();
        }
    }

    /// Closes the breaker of an empty queue, unless an operator holds it open.
    pub(in crate::process) fn end_outage(&mut self, now: Millis) {
        if !self.is_held(now) {
            self.close();
        }
    }

    /// Whether an operator holds the breaker open.
    pub(in crate::process) fn is_held(&self, now: Millis) -> bool {
        self.hand.until.is_some_and(|until| until > now)
    }
}
