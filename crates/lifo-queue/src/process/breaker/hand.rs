//! Operators' commands: the circuit breaker is held open for a time, or closed.

use super::Breaker;
use crate::control::Control;
use crate::task::TaskId;
use crate::time::Millis;

/// The operators' commands that a turn knows of.
#[derive(Debug, Default)]
pub(super) struct Hand {
    /// How many.
    commands: u64,
    /// Until when the last one holds the breaker open.
    until: Option<Millis>,
}

impl Breaker {
    /// Learns the commands before this turn. A hold opens the breaker, also where the settings
    /// switch it off.
    pub(in crate::process) fn know(&mut self, control: &Control, now: Millis) {
        self.hand.commands = control.breaker_by_hand.commands;
        self.hand.until = control.held_breaker(now).map(|hold| hold.until);
        if self.is_held(now) {
            self.open_at(now);
        }
    }

    /// Obeys the last command, if there was one since this turn last looked.
    pub(in crate::process) fn obey(&mut self, control: &Control, now: Millis) {
        if control.breaker_by_hand.commands == self.hand.commands {
            return;
        }
        self.know(control, now);
        if !self.is_held(now) {
            self.close();
        }
    }

    /// The downstream answered: the breaker closes, or probes go on while it is held open.
    pub(super) fn answered(&mut self, task: &TaskId, now: Millis) {
        self.answered.insert(task.clone());
        self.close();
        if self.is_held(now) {
            self.closed = false;
            self.open_at(now);
        }
    }

    fn is_held(&self, now: Millis) -> bool {
        self.hand.until.is_some_and(|until| until > now)
    }
}
