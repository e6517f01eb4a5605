//! Handles the keys of the live view and tracks what the view shows besides the queue.

use std::time::Duration;

use lifo_queue::task::TaskId;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::verbs::task_id;

/// Duration of a pause that is started from the view.
pub(super) const PAUSE: Duration = Duration::from_secs(900);

/// The keys and their effects, for the help and for the last line.
pub(super) const HELP: [(&str, &str); 7] = [
    (
        "↑ ↓",
        "select a task of the list of the newest pending tasks",
    ),
    ("Enter", "show the selected task"),
    ("/", "show a task by its id"),
    ("p", "pause the queue for 15 minutes, after a reason"),
    ("r", "resume the queue, after a confirmation"),
    ("?", "show or hide this help"),
    ("q", "end the view; Esc and Ctrl-C too"),
];

/// What the view shows besides the state of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Live,
    Help,
    Typing(Field, String),
    /// The confirmation prompt before the queue is resumed.
    Resuming,
    /// The text of a task or of the outcome of a change.
    Text(String),
}

/// The meaning of a typed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Task,
    Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Draw,
    Quit,
    Show(TaskId),
    Pause(String),
    Resume,
}

/// The state of the keyboard.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) mode: Mode,
    /// Index of the selected task in the list.
    pub(super) selected: usize,
}

impl Keys {
    /// Applies a key. `tasks` is the list of the newest pending tasks.
    pub(super) fn press(&mut self, key: KeyEvent, tasks: &[TaskId]) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        match std::mem::take(&mut self.mode) {
            Mode::Typing(field, text) => self.typed(key.code, field, text),
            Mode::Resuming if key.code == KeyCode::Char('y') => Action::Resume,
            Mode::Live => self.live(key.code, tasks),
            // Any key closes the other modes.
            Mode::Help | Mode::Text(_) | Mode::Resuming => Action::Draw,
        }
    }

    fn live(&mut self, key: KeyCode, tasks: &[TaskId]) -> Action {
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Typing(Field::Task, String::new()),
            KeyCode::Char('p') => self.mode = Mode::Typing(Field::Reason, String::new()),
            KeyCode::Char('r') => self.mode = Mode::Resuming,
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => {
                self.selected = (self.selected + 1).min(tasks.len().saturating_sub(1));
            }
            KeyCode::Enter => {
                if let Some(task) = tasks.get(self.selected) {
                    return Action::Show(task.clone());
                }
            }
            _ => {}
        }
        Action::Draw
    }

    fn typed(&mut self, key: KeyCode, field: Field, mut text: String) -> Action {
        match (key, field) {
            (KeyCode::Esc, _) => return Action::Draw,
            (KeyCode::Enter, Field::Task) => match task_id(&text) {
                Ok(task) => return Action::Show(task),
                Err(fault) => {
                    self.mode = Mode::Text(format!("{text:?} is not the id of a task: {fault}"));
                    return Action::Draw;
                }
            },
            (KeyCode::Enter, Field::Reason) if !text.trim().is_empty() => {
                return Action::Pause(text);
            }
            (KeyCode::Backspace, _) => drop(text.pop()),
            (KeyCode::Char(c), _) => text.push(c),
            _ => {}
        }
        self.mode = Mode::Typing(field, text);
        Action::Draw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut Keys, code: KeyCode) -> Action {
        let tasks = ["a", "b"].map(TaskId::from_stored);
        keys.press(KeyEvent::new(code, KeyModifiers::NONE), &tasks)
    }

    fn type_in(keys: &mut Keys, text: &str) -> Action {
        for c in text.chars() {
            press(keys, KeyCode::Char(c));
        }
        press(keys, KeyCode::Enter)
    }

    #[test]
    fn q_escape_and_control_c_close_the_view() {
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(press(&mut Keys::default(), code), Action::Quit);
        }
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut typing = Keys::default();
        press(&mut typing, KeyCode::Char('/'));
        assert_eq!(typing.press(interrupt, &[]), Action::Quit);
        assert_eq!(
            press(&mut Keys::default(), KeyCode::Char('c')),
            Action::Draw
        );
    }

    #[test]
    fn arrows_select_a_task_and_enter_shows_it() {
        let mut keys = Keys::default();
        for _ in 0..3 {
            press(&mut keys, KeyCode::Down);
        }
        let last = Action::Show(TaskId::from_stored("b"));
        assert_eq!(press(&mut keys, KeyCode::Enter), last);
        press(&mut keys, KeyCode::Up);
        let first = Action::Show(TaskId::from_stored("a"));
        assert_eq!(press(&mut keys, KeyCode::Enter), first);
        let none = keys.press(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE), &[]);
        assert_eq!(none, Action::Draw);
    }

    #[test]
    fn slash_shows_the_task_whose_id_is_typed() {
        let mut keys = Keys::default();
        press(&mut keys, KeyCode::Char('/'));
        press(&mut keys, KeyCode::Char('x'));
        press(&mut keys, KeyCode::Backspace);
        let shown = type_in(&mut keys, "order-q");
        assert_eq!(shown, Action::Show(TaskId::from_stored("order-q")));
        press(&mut keys, KeyCode::Char('/'));
        assert_eq!(type_in(&mut keys, "#processor"), Action::Draw);
        assert!(matches!(&keys.mode, Mode::Text(text) if text.contains("reserved")));
    }

    #[test]
    fn pause_requires_a_reason_and_resume_a_confirmation() {
        let mut keys = Keys::default();
        press(&mut keys, KeyCode::Char('p'));
        assert_eq!(press(&mut keys, KeyCode::Enter), Action::Draw);
        let paused = type_in(&mut keys, "new release");
        assert_eq!(paused, Action::Pause("new release".to_owned()));
        for (answer, action) in [('n', Action::Draw), ('y', Action::Resume)] {
            press(&mut keys, KeyCode::Char('r'));
            assert_eq!(press(&mut keys, KeyCode::Char(answer)), action);
            assert_eq!(keys.mode, Mode::Live);
        }
    }
}
