//! The view of a queue on the terminal.

use std::time::Duration;

use lifo_queue::store::Candidate;
use lifo_queue::time::Millis;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Sparkline};

use crate::sample::{History, Sample, WINDOW};
use crate::time_format::{exact, relative, rough};

pub(super) fn draw(frame: &mut Frame<'_>, name: &str, history: &History) {
    let rows = [
        Constraint::Length(7),
        Constraint::Length(6),
        Constraint::Length(6),
        Constraint::Min(4),
        Constraint::Length(1),
    ];
    let [head, depth, age, tasks, foot] = Layout::vertical(rows).areas(frame.area());
    let foot_line = match &history.failure {
        Some(why) => Line::from(format!("the last sample failed: {why}")).red(),
        None => Line::from("q ends the view").dim(),
    };
    frame.render_widget(foot_line, foot);
    let Some(sample) = &history.last else {
        return;
    };
    let block = Block::bordered().title(format!(" {name}  {} ", exact(sample.status.now)));
    frame.render_widget(Paragraph::new(facts(sample)).block(block), head);
    let pending = &sample.status.pending;
    let title = format!(" pending: {pending} ");
    let depths = history.figures.iter().map(|look| Some(look.pending.into()));
    sparkline(frame, depth, title, depths.collect());
    let latest = sample.start_age.map_or("no task runs".to_owned(), rough);
    // Both curves have one column per sample, even if no task ran.
    let ages = history
        .figures
        .iter()
        .map(|look| look.start_age.map(millis));
    let title = format!(" age at start: {latest} ");
    sparkline(frame, age, title, ages.collect());
    let [newest, oldest] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(tasks);
    list(
        frame,
        newest,
        " newest pending ",
        &sample.newest,
        sample.status.now,
    );
    list(
        frame,
        oldest,
        " oldest pending ",
        &sample.oldest,
        sample.status.now,
    );
}

/// The lines above the curves.
fn facts(sample: &Sample) -> Vec<Line<'static>> {
    let (status, now) = (&sample.status, sample.status.now);
    let control = &status.control;
    let processor = match &control.lease {
        Some(lease) if lease.until > now => Line::from("processor  active"),
        Some(lease) => Line::from(format!(
            "processor  lease expired {}",
            relative(lease.until, now)
        ))
        .yellow(),
        None => Line::from("processor  none"),
    };
    let paused = match control.paused_until.filter(|_| control.is_paused(now)) {
        None => Line::from("paused     no"),
        Some(until) => {
            let reason = control.pause_reason.as_deref().unwrap_or("no reason given");
            Line::from(format!(
                "paused     {} left: {reason}",
                rough(until.since(now))
            ))
            .yellow()
        }
    };
    let breaker = match (control.held_breaker(now), control.breaker) {
        (Some(hold), _) => {
            let left = rough(hold.until.since(now));
            Line::from(format!(
                "breaker    held open, {left} left: {}",
                hold.reason
            ))
            .red()
        }
        (None, Some(open)) => {
            let since = relative(open.since, now);
            Line::from(format!(
                "breaker    open since {since}; failed probes: {}",
                open.probes
            ))
            .red()
        }
        (None, None) => Line::from("breaker    closed"),
    };
    let [pending, taken, success, failure] = sample.recent;
    let rate = sample.created_per_second();
    let least = if sample.more { "at least " } else { "" };
    vec![
        Line::from(format!(
            "tasks      running: {}, failed: {}",
            status.taken, status.failed
        )),
        Line::from(format!(
            "last {} s  created: {least}{rate:.1}/s; of these succeeded: {success}, failed: {failure}, running: {taken}, pending: {pending}",
            WINDOW.as_secs()
        )),
        processor,
        paused,
        breaker,
    ]
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

fn list(frame: &mut Frame<'_>, area: Rect, title: &'static str, tasks: &[Candidate], now: Millis) {
    let lines: Vec<Line<'_>> = tasks.iter().map(|task| row(task, now)).collect();
    let block = Block::bordered().title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn row(task: &Candidate, now: Millis) -> Line<'static> {
    let age = rough(now.since(task.created));
    let line = format!("{age:>8}  {}", task.id);
    match task.not_before.filter(|at| *at > now) {
        Some(at) => Line::from(format!("{line}, may start {}", relative(at, now))).dim(),
        None => Line::from(line),
    }
}
