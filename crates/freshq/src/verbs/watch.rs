//! `freshq watch`: shows a live view of a queue.

mod facts;
mod keys;
mod view;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use serde_json::json;

use self::keys::{Action, Keys, Mode};
use super::{Pause, Resume, Show, VerbOnQueue};
use crate::confirm::{NoTerminal, Prompt};
use crate::failure::{Failure, Result};
use crate::queue::Queue;
use crate::report::Report;
use crate::sample::{self, History, Sample};
use crate::time_format::parse_duration;

/// Number of columns and rows of the view with `--once`.
const PRINTED: (u16, u16) = (100, 30);

/// Shows a pause, the circuit breaker, the processor, rates, run time, depth, age at start, the newest
/// failures, and the newest and oldest pending tasks, until q is pressed; ? shows the other keys, which
/// show a task, pause and resume. A sample reads some pages of the index, and running and failed tasks.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The interval between samples
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub(crate) every: Duration,
    /// Takes one sample and prints the view
    #[arg(long)]
    pub(crate) once: bool,
}

#[async_trait]
impl VerbOnQueue for Watch {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let mut history = History::default();
        if self.once {
            history.add(sample::take(queue).await?);
            let json = history.last.as_ref().map(Sample::json);
            let view = printed(&queue.name, &history, PRINTED, &Keys::default())?;
            return Ok(Report::done(view, json.unwrap_or_default()));
        }
        if !io::stdout().is_terminal() {
            return Err(Failure::NoScreen);
        }
        let mut terminal = ratatui::try_init().map_err(Failure::Terminal)?;
        let ended = self.watch(queue, &mut history, &mut terminal).await;
        ratatui::restore();
        ended?;
        let looks = history.looks();
        Ok(Report {
            is_note: true,
            ..Report::done(format!("samples taken: {looks}"), json!({ "looks": looks }))
        })
    }
}

impl Watch {
    async fn watch(
        &self,
        queue: &Queue,
        history: &mut History,
        terminal: &mut ratatui::DefaultTerminal,
    ) -> Result<()> {
        let mut keys = Keys::default();
        loop {
            // The view shows why a sample failed; the next sample may succeed.
            history.take(queue).await;
            let next = Instant::now() + self.every;
            loop {
                let drawn = terminal.draw(|frame| view::draw(frame, &queue.name, history, &keys));
                drawn.map_err(Failure::Terminal)?;
                let Some(key) = key_until(next).await? else {
                    break;
                };
                let newest = history.last.as_ref().map(Sample::newest);
                let newest = newest.unwrap_or_default().iter();
                let newest: Vec<_> = newest.map(|task| task.id.clone()).collect();
                match keys.press(key, &newest) {
                    Action::Quit => return Ok(()),
                    Action::Draw => {}
                    action => keys.mode = Mode::Text(carry_out(queue, action).await),
                }
            }
        }
    }
}

/// Performs the action of a key and returns a text for the view.
async fn carry_out(queue: &Queue, action: Action) -> String {
    let outcome = match action {
        Action::Draw | Action::Quit => return String::new(),
        Action::Show(task) => Show { task }.run(queue, &mut NoTerminal).await,
        Action::Resume => Resume::default().run(queue, &mut NoTerminal).await,
        Action::Pause(reason) => {
            let pause = Pause {
                time: keys::PAUSE,
                reason,
                group: None,
                yes: false,
            };
            pause.run(queue, &mut NoTerminal).await
        }
    };
    match outcome {
        Ok(report) => report.text,
        Err(failure) => failure.line(),
    }
}

/// Waits for a key until `end`; `None` if the view must be redrawn.
async fn key_until(end: Instant) -> Result<Option<KeyEvent>> {
    let waited = tokio::task::spawn_blocking(move || {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !event::poll(left)? {
                return Ok(None);
            }
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => return Ok(Some(key)),
                Event::Resize(..) => return Ok(None),
                _ => {}
            }
        }
    });
    let waited = waited.await.map_err(io::Error::other).flatten();
    waited.map_err(Failure::Terminal)
}

/// Returns the view as text.
fn printed(
    name: &str,
    history: &History,
    (columns, rows): (u16, u16),
    keys: &Keys,
) -> Result<String> {
    let failed = |error: std::convert::Infallible| match error {};
    let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, rows)).map_err(failed);
    let Ok(_) = terminal
        .draw(|frame| view::draw(frame, name, history, keys))
        .map_err(failed);
    let cells = terminal.backend().buffer();
    let rows = cells.content.chunks(usize::from(columns));
    let lines = rows.map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    Ok(lines.collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

#[cfg(test)]
mod tests;
