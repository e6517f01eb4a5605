//! Draws the view of a queue on the terminal.

use std::time::Duration;

use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};

use super::facts::facts;
use super::keys::{Field, HELP, Keys, Mode, PAUSE};
use crate::report::on_one_line;
use crate::sample::{History, Sample, not_before, started};
use crate::time_format::{age, exact, relative, rough};
use crate::verbs::payload_preview;

/// Minimum height of the charts.
const CURVES: u16 = 4;

/// Height reserved for the lists of pending tasks, not available to failed tasks.
const LISTS: u16 = 7;

pub(super) fn draw(frame: &mut Frame<'_>, name: &str, history: &History, keys: &Keys) {
    let area = frame.area();
    let Some(sample) = &history.last else {
        frame.render_widget(foot(history, keys), area);
        return;
    };
    let facts = facts(sample, usize::from(area.width));
    let head = u16::try_from(facts.len()).unwrap_or(0) + 2;
    let listed = sample.newest().len().max(sample.tasks.oldest.len());
    let listed = u16::try_from(listed).unwrap_or(0);
    let left = area.height.saturating_sub(head + 1);
    let failed = extra_height(sample.failed.len(), left, listed);
    let left = left - failed;
    let running = extra_height(sample.tasks.running.len(), left, listed);
    let left = left - running;
    let (curves, tasks) = match listed {
        0 => (left.saturating_sub(1), 1),
        _ => {
            let curves = left.saturating_sub(listed + 2).max(CURVES);
            (curves, left.saturating_sub(curves))
        }
    };
    // Omit the charts on a low screen, because a chart with one row shows nothing useful.
    let (curves, tasks) = match left < 2 * CURVES {
        true => (0, left),
        false => (curves, tasks),
    };
    let rows = [head, curves, failed, running, tasks, 1].map(Constraint::Length);
    let [head, curves, failed, running, tasks, last] = Layout::vertical(rows).areas(area);
    let block = Block::bordered().title(format!(" {name}  {} ", exact(sample.status.now)));
    frame.render_widget(Paragraph::new(facts).block(block), head);
    draw_curves(frame, curves, history, sample);
    draw_failed(frame, failed, sample);
    draw_running(frame, running, sample);
    draw_tasks(frame, tasks, sample, keys.selected);
    frame.render_widget(foot(history, keys), last);
    if let Some(text) = overlay(&keys.mode) {
        let below = Rect {
            y: head.bottom().min(last.y),
            height: last.y.saturating_sub(head.bottom()),
            ..area
        };
        let block = Block::bordered().title(" any key closes this ");
        let text = Paragraph::new(text).wrap(Wrap { trim: false }).block(block);
        frame.render_widget(Clear, below);
        frame.render_widget(text, below);
    }
}

/// Returns the text that covers the lists.
fn overlay(mode: &Mode) -> Option<String> {
    match mode {
        Mode::Help => {
            let keys = HELP
                .iter()
                .map(|(key, effect)| format!("{key:<6} {effect}"));
            Some(keys.collect::<Vec<_>>().join("\n"))
        }
        Mode::Text(text) => Some(text.clone()),
        Mode::Live | Mode::Typing(..) | Mode::Resuming => None,
    }
}

/// Returns the last line: an input prompt, a failure or the keys.
fn foot(history: &History, keys: &Keys) -> Line<'static> {
    match (&keys.mode, &history.failure) {
        (Mode::Typing(Field::Task, text), _) => Line::from(format!("task id: {text}▏")),
        (Mode::Typing(Field::Reason, text), _) => {
            Line::from(format!("pause for {}, reason: {text}▏", rough(PAUSE)))
        }
        (Mode::Resuming, _) => Line::from("resume the queue? [y/N]"),
        (_, Some(why)) => Line::from(format!("the last sample failed: {why}")).red(),
        (_, None) => Line::from("q ends the view, ? shows the keys").dim(),
    }
}

/// Draws the charts, side by side.
fn draw_curves(frame: &mut Frame<'_>, area: Rect, history: &History, sample: &Sample) {
    let [depth, age] = halves(area);
    let oldest = sample.status.oldest_pending;
    let oldest = oldest.map_or_else(String::new, |created| {
        format!(", oldest {}", rough(sample.status.now.since(created)))
    });
    let title = format!(" pending: {}{oldest} ", sample.status.pending);
    let depths = history.figures.iter().map(|look| Some(look.pending.into()));
    sparkline(frame, depth, title, depths.collect());
    let latest = history.start_age_text();
    // Both charts have one column per sample, even if no task ran.
    let ages = history
        .figures
        .iter()
        .map(|look| look.start_age.map(millis));
    let title = format!(" age at start: {latest} ");
    sparkline(frame, age, title, ages.collect());
}

/// Returns the height of a list of failed or running tasks; 0 without such tasks or without space.
fn extra_height(tasks: usize, left: u16, listed: u16) -> u16 {
    let lists = match listed {
        0 => 1,
        _ => LISTS.min(listed + 2),
    };
    let rows = u16::try_from(tasks).unwrap_or(0);
    match left.saturating_sub(CURVES + lists).min(rows + 2) {
        0..=2 => 0,
        height => height,
    }
}

/// Draws the newest failed tasks with their errors.
fn draw_failed(frame: &mut Frame<'_>, area: Rect, sample: &Sample) {
    let row = |task: &FoundTask| {
        let age = age(task.created, sample.status.now);
        let error = task.text(schema::LAST_ERROR);
        let error = error.unwrap_or("no error was recorded");
        format!("{age:>8}  {}: {error}", task.id)
    };
    draw_found(
        frame,
        area,
        " newest failed ",
        sample.failed.iter().map(row),
    );
}

/// Draws the tasks that have been running longest, with their payloads.
fn draw_running(frame: &mut Frame<'_>, area: Rect, sample: &Sample) {
    let mut tasks: Vec<_> = sample.tasks.running.iter().collect();
    tasks.sort_by_key(|task| started(task));
    let row = |task: &FoundTask| {
        let age = age(started(task).unwrap_or(task.created), sample.status.now);
        let payload = payload_preview(task, area.width.into());
        format!("{age:>8}  {}  {payload}", task.id)
    };
    let rows = tasks.into_iter().map(row);
    draw_found(frame, area, " longest running ", rows);
}

fn draw_found(frame: &mut Frame<'_>, area: Rect, title: &str, rows: impl Iterator<Item = String>) {
    let width = usize::from(area.width.saturating_sub(2));
    let lines = rows.map(|row| Line::from(fitted(on_one_line(row), width)));
    let lines: Vec<_> = lines.collect();
    let block = Block::bordered().title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Draws the lists of pending tasks; one line if there are none.
fn draw_tasks(frame: &mut Frame<'_>, area: Rect, sample: &Sample, selected: usize) {
    if sample.newest().is_empty() {
        frame.render_widget(Line::from(" no task is pending").dim(), area);
        return;
    }
    let [newest, oldest] = halves(area);
    let now = sample.status.now;
    list(
        frame,
        newest,
        " newest pending ".to_owned(),
        sample.newest(),
        Some(selected),
        now,
    );
    let expiry = sample.tasks.first_expiry(now);
    let expiry = expiry.map_or_else(String::new, |at| format!(", expires {}", relative(at, now)));
    let title = format!(" oldest pending{expiry} ");
    list(frame, oldest, title, &sample.tasks.oldest, None, now);
}

fn halves(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area)
}

fn sparkline(frame: &mut Frame<'_>, area: Rect, title: String, mut values: Vec<Option<u64>>) {
    let width = usize::from(area.width.saturating_sub(2));
    let skipped = values.len().saturating_sub(width);
    values.drain(..skipped);
    let line = Sparkline::default()
        .block(Block::bordered().title(title))
        .style(Style::new().cyan())
        .data(values);
    frame.render_widget(line, area);
}

fn millis(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    tasks: &[FoundTask],
    selected: Option<usize>,
    now: Millis,
) {
    let width = usize::from(area.width.saturating_sub(2));
    let row = |(place, task)| match selected == Some(place) {
        true => row(task, now, width).reversed(),
        false => row(task, now, width),
    };
    let lines: Vec<Line<'_>> = tasks.iter().enumerate().map(row).collect();
    let block = Block::bordered().title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Maximum length of an id in the lists of pending tasks, so that the payload is visible.
const ID: usize = 24;

/// Returns the id. Shortens an id longer than [`ID`] to its group and its last characters.
pub(super) fn short(id: &TaskId) -> String {
    let id = id.as_str();
    let end = id.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
    let group = id.find('/').map_or(0, |at| at + 1);
    match id.chars().count() > ID && group < end {
        true => format!("{}…{}", &id[..group], &id[end..]),
        false => id.to_owned(),
    }
}

/// Formats the age, id and payload of a task.
fn row(task: &FoundTask, now: Millis, width: usize) -> Line<'static> {
    let age = age(task.created, now);
    let payload = payload_preview(task, width);
    let line = on_one_line(format!("{age:>8}  {}  {payload}", short(&task.id)));
    match not_before(task).filter(|at| *at > now) {
        // Truncate a long id or payload, not the time.
        Some(at) => {
            // Two units, for example "in 8h 16m", leave more space for the payload.
            let at = relative(at, now);
            let at: Vec<_> = at.split(' ').take(3).collect();
            let start = format!(", starts {}", at.join(" "));
            let left = width.saturating_sub(start.chars().count());
            Line::from(fitted(line, left) + &start).dim()
        }
        None => Line::from(fitted(line, width)),
    }
}

/// Truncates a row that is wider than its list and ends it with `…`.
fn fitted(mut text: String, width: usize) -> String {
    if text.chars().count() > width {
        text = text.chars().take(width.saturating_sub(1)).collect();
        text.push('…');
    }
    text
}
