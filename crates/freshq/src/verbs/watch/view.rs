//! The view of a queue on the terminal.

use std::time::Duration;

use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::store::Candidate;
use lifo_queue::task::Ttl;
use lifo_queue::time::Millis;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};

use super::keys::{Field, HELP, Keys, Mode, PAUSE};
use crate::overrides;
use crate::report::on_one_line;
use crate::sample::{History, Sample, WINDOW, started};
use crate::time_format::{age, exact, rate, relative, rough, tenths};
use crate::verbs::{cause, longest_run, payload_preview, start_limits};

/// Minimum height of the curves.
const CURVES: u16 = 4;

/// Width of the names of the facts.
const NAME: usize = 11;

/// Expiries that are later are not shown.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Height of the lists of pending tasks that failed tasks do not take.
const LISTS: u16 = 7;

pub(super) fn draw(frame: &mut Frame<'_>, name: &str, history: &History, keys: &Keys) {
    let area = frame.area();
    let Some(sample) = &history.last else {
        frame.render_widget(foot(history, keys), area);
        return;
    };
    let facts = facts(sample, usize::from(area.width));
    let head = u16::try_from(facts.len()).unwrap_or(0) + 2;
    let listed = sample.newest.len().max(sample.oldest.len());
    let listed = u16::try_from(listed).unwrap_or(0);
    let left = area.height.saturating_sub(head + 1);
    let failed = extra_height(sample.failed.len(), left, listed);
    let left = left - failed;
    let running = extra_height(sample.running.len(), left, listed);
    let left = left - running;
    let (curves, tasks) = match listed {
        0 => (left.saturating_sub(1), 1),
        _ => {
            let curves = left.saturating_sub(listed + 2).max(CURVES);
            (curves, left.saturating_sub(curves))
        }
    };
    // A curve of one row says nothing.
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

/// The text that covers the lists.
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

/// The last line: a question, a failure or the keys.
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

/// The curves, side by side.
fn draw_curves(frame: &mut Frame<'_>, area: Rect, history: &History, sample: &Sample) {
    let [depth, age] = halves(area);
    let title = format!(" pending: {} ", sample.status.pending);
    let depths = history.figures.iter().map(|look| Some(look.pending.into()));
    sparkline(frame, depth, title, depths.collect());
    let latest = sample.start_age.map_or("no task runs".to_owned(), tenths);
    // Both curves have one column per sample, even if no task ran.
    let ages = history
        .figures
        .iter()
        .map(|look| look.start_age.map(millis));
    let title = format!(" age at start: {latest} ");
    sparkline(frame, age, title, ages.collect());
}

/// Height of a list of failed or running tasks; 0 if there are none, or the screen has no space.
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

/// The newest failed tasks with their errors.
fn draw_failed(frame: &mut Frame<'_>, area: Rect, sample: &Sample) {
    let width = usize::from(area.width.saturating_sub(2));
    let row = |task: &FoundTask| {
        let age = age(task.created, sample.status.now);
        let error = task
            .text(schema::LAST_ERROR)
            .unwrap_or("no error was recorded");
        let text = on_one_line(format!("{age:>8}  {}: {error}", task.id));
        Line::from(fitted(text, width))
    };
    let lines: Vec<_> = sample.failed.iter().map(row).collect();
    let block = Block::bordered().title(" newest failed ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The tasks that have been running longest, with their payloads.
fn draw_running(frame: &mut Frame<'_>, area: Rect, sample: &Sample) {
    let width = usize::from(area.width.saturating_sub(2));
    let mut tasks: Vec<_> = sample.running.iter().collect();
    tasks.sort_by_key(|task| started(task));
    let row = |task: &FoundTask| {
        let age = age(started(task).unwrap_or(task.created), sample.status.now);
        let payload = payload_preview(task, width);
        let text = on_one_line(format!("{age:>8}  {}  {payload}", task.id));
        Line::from(fitted(text, width))
    };
    let lines: Vec<_> = tasks.into_iter().map(row).collect();
    let block = Block::bordered().title(" longest running ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The lists of pending tasks; one line if there are none.
fn draw_tasks(frame: &mut Frame<'_>, area: Rect, sample: &Sample, selected: usize) {
    if sample.newest.is_empty() {
        frame.render_widget(Line::from(" no task is pending").dim(), area);
        return;
    }
    let [newest, oldest] = halves(area);
    let now = sample.status.now;
    list(
        frame,
        newest,
        " newest pending ".to_owned(),
        &sample.newest,
        Some(selected),
        now,
    );
    let expiry = match sample.oldest.first().map(|task| task.ttl) {
        Some(Ttl::Seconds(at)) if at.millis().since(now) < DAY => {
            format!(", expires {}", relative(at.millis(), now))
        }
        _ => String::new(),
    };
    let title = format!(" oldest pending{expiry} ");
    list(frame, oldest, title, &sample.oldest, None, now);
}

fn halves(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area)
}

/// The lines above the curves, for a screen of this width.
fn facts(sample: &Sample, width: usize) -> Vec<Line<'static>> {
    let (status, now) = (&sample.status, sample.status.now);
    let control = &status.control;
    let limits = control.observed.limits;
    let limits = limits.map_or_else(String::new, |limits| format!("; {}", start_limits(limits)));
    let processor = match &control.lease {
        Some(lease) if lease.until > now => Line::from(format!("processor  active{limits}")),
        Some(lease) => {
            let expired = relative(lease.until, now);
            Line::from(format!("processor  lease expired {expired}")).yellow()
        }
        None => Line::from("processor  none"),
    };
    let paused = match control.paused_until.filter(|_| control.is_paused(now)) {
        None => Line::from("paused     no"),
        Some(until) => {
            let left = rough(until.since(now));
            let reason = control.pause_reason.as_deref().unwrap_or("no reason given");
            // Of a pause by a processor, the last response is below.
            let operator = control.paused_by.as_ref().filter(|by| !by.is_processor());
            let by = operator.map_or(String::new(), |by| format!(" (by {})", by.name));
            Line::from(format!("paused     {left} left: {reason}{by}")).yellow()
        }
    };
    let breaker = match (control.held_breaker(now), control.breaker) {
        (Some(hold), _) => {
            let (left, reason) = (rough(hold.until.since(now)), &hold.reason);
            Line::from(format!("breaker    held open, {left} left: {reason}")).red()
        }
        (None, Some(open)) => {
            let (time, probes) = (rough(now.since(open.since)), open.probes);
            Line::from(format!(
                "breaker    open for {time}; failed probes: {probes}"
            ))
            .red()
        }
        (None, None) => Line::from("breaker    closed"),
    };
    let (succeeded, failed) = sample.ended_per_second();
    let created = sample.created();
    let least = if created.more { "at least " } else { "" };
    let run_time = sample.run_time().map_or("not measured".to_owned(), tenths);
    let flow = format!(
        "last {} s  created {least}{}/s, succeeded {}/s, failed {}/s",
        WINDOW.as_secs(),
        rate(created.per_second()),
        rate(succeeded),
        rate(failed),
    );
    // A pause and a breaker that an operator holds open have lines of their own.
    let by_hand = control.is_paused(now) || control.held_breaker(now).is_some();
    let summary = cause::summary(status, created, sample.next_start).filter(|_| !by_hand);
    let summary = summary.map(|text| wrapped("summary", &text, width));
    let summary = summary
        .into_iter()
        .flatten()
        .map(|line| match control.breaker {
            Some(_) => line.red(),
            None => line.yellow(),
        });
    let mut lines = vec![
        paused,
        breaker,
        processor,
        Line::from(format!(
            "tasks      running: {}, failed: {}; median run: {run_time}{}",
            status.taken,
            status.failed,
            longest_run(status)
        )),
        match failed > succeeded {
            true => Line::from(flow).red(),
            false if created.exceeds_ended(status) => Line::from(flow).yellow(),
            false => Line::from(flow),
        },
    ];
    if let Some(limit) = control.limit(now) {
        let left = rough(limit.until.since(now));
        let (values, reason) = (overrides::limit_values(limit), &limit.reason);
        let text = format!("limited    {values}, {left} left: {reason}");
        lines.insert(1, Line::from(text).yellow());
    }
    if let Some(groups) = sample.groups.text() {
        lines.insert(1, Line::from(format!("groups     {groups}")).yellow());
    }
    let replaced: i64 = sample
        .running
        .iter()
        .filter_map(|task| task.number(schema::SUPERSEDED))
        .sum();
    if replaced > 0 {
        let text = format!(
            "keys       {replaced} tasks were replaced by newer ones with the keys that run"
        );
        lines.push(Line::from(text));
    }
    if let Some(last) = &control.observed.last_response {
        let text = format!("{}: {}", relative(last.at, now), last.text);
        lines.extend(wrapped("response", &text, width));
    }
    summary.chain(lines).collect()
}

/// A fact that takes several lines if the screen is narrow. Words that are longer than a line break.
pub(super) fn wrapped(name: &str, text: &str, width: usize) -> Vec<Line<'static>> {
    let width = width.saturating_sub(NAME + 2).max(NAME);
    let mut rows = vec![String::new()];
    for word in on_one_line(text.to_owned()).split_inclusive(' ') {
        let taken = rows.last().map_or(0, |row| row.chars().count());
        if taken > 0 && taken + word.trim_end().chars().count() > width {
            rows.push(String::new());
        }
        for c in word.chars() {
            match rows.last_mut() {
                Some(row) if row.chars().count() < width => row.push(c),
                _ if c == ' ' => {}
                _ => rows.push(c.to_string()),
            }
        }
    }
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let rows = names.zip(rows);
    rows.map(|(name, row)| Line::from(format!("{name:<NAME$}{row}")))
        .collect()
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
    tasks: &[Candidate],
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

/// The age and the id of a task.
fn row(task: &Candidate, now: Millis, width: usize) -> Line<'static> {
    let age = age(task.created, now);
    let line = format!("{age:>8}  {}", task.id);
    let later = task.not_before.filter(|at| *at > now);
    match later {
        // A long id is cut off, not the time.
        Some(at) => {
            let start = format!(", starts {}", relative(at, now));
            let left = width.saturating_sub(start.chars().count());
            Line::from(fitted(line, left) + &start).dim()
        }
        None => Line::from(fitted(line, width)),
    }
}

/// A row that is wider than its list ends with `…`.
fn fitted(mut text: String, width: usize) -> String {
    if text.chars().count() > width {
        text = text.chars().take(width.saturating_sub(1)).collect();
        text.push('…');
    }
    text
}
