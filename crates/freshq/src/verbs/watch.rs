//! `freshq watch`: shows a live view of a queue.

mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::VerbOnQueue;
use crate::confirm::Prompt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::report::Report;
use crate::sample::{self, History};
use crate::time_format::parse_duration;

/// Columns and rows of the view with `--once`.
const PRINTED: (u16, u16) = (100, 30);

/// Shows depth, rates, age at start, the processor, a pause, the circuit breaker, and the newest and
/// oldest tasks, until q is pressed. A sample reads some pages of the index, and the running tasks.
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
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Box<dyn Report>, Failure> {
        let mut history = History::default();
        if self.once {
            history.add(sample::take(queue).await?);
            return Ok(Box::new(Printed(printed(&queue.name, &history)?)));
        }
        if !io::stdout().is_terminal() {
            return Err(Failure::NoScreen);
        }
        let mut terminal = ratatui::try_init().map_err(Failure::Terminal)?;
        let ended = self.watch(queue, &mut history, &mut terminal).await;
        ratatui::restore();
        ended.map(|()| -> Box<dyn Report> { Box::new(Watched(history.looks())) })
    }

    fn changes(&self) -> bool {
        false
    }
}

impl Watch {
    async fn watch(
        &self,
        queue: &Queue,
        history: &mut History,
        terminal: &mut ratatui::DefaultTerminal,
    ) -> Result<(), Failure> {
        loop {
            // The view shows the failure of a sample, and the next sample may succeed.
            match sample::take(queue).await {
                Ok(sample) => history.add(sample),
                Err(failure) => history.failed(failure.line()),
            }
            let drawn = terminal.draw(|frame| view::draw(frame, &queue.name, history));
            drawn.map_err(Failure::Terminal)?;
            if quit_within(self.every).await? {
                return Ok(());
            }
        }
    }
}

/// Waits for this time, or until the terminal is resized. Returns whether the operator ended the
/// view.
async fn quit_within(time: Duration) -> Result<bool, Failure> {
    let waited = tokio::task::spawn_blocking(move || {
        let end = std::time::Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() || !event::poll(left)? {
                return Ok(false);
            }
            match event::read()? {
                Event::Key(key) if ends(key) => return Ok(true),
                Event::Resize(..) => return Ok(false),
                _ => {}
            }
        }
    });
    let waited = waited.await.map_err(io::Error::other).flatten();
    waited.map_err(Failure::Terminal)
}

fn ends(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// The view as text.
fn printed(name: &str, history: &History) -> Result<String, Failure> {
    let failed = |error: std::convert::Infallible| match error {};
    let Ok(mut terminal) = Terminal::new(TestBackend::new(PRINTED.0, PRINTED.1)).map_err(failed);
    let Ok(_) = terminal
        .draw(|frame| view::draw(frame, name, history))
        .map_err(failed);
    let cells = terminal.backend().buffer();
    let rows = cells.content.chunks(usize::from(PRINTED.0));
    let lines = rows.map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    Ok(lines.collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

#[derive(Debug)]
struct Printed(String);

impl Report for Printed {
    fn exit(&self) -> Exit {
        Exit::Done
    }

    fn text(&self) -> String {
        self.0.clone()
    }

    fn json(&self) -> Value {
        json!({ "view": self.0.lines().collect::<Vec<_>>() })
    }
}

/// The number of samples that succeeded.
#[derive(Debug)]
struct Watched(u32);

impl Report for Watched {
    fn exit(&self) -> Exit {
        Exit::Done
    }

    fn text(&self) -> String {
        format!("samples taken: {}", self.0)
    }

    fn json(&self) -> Value {
        json!({ "looks": self.0 })
    }

    fn is_note(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
