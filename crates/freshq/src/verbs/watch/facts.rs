//! The facts that the view shows above the charts.

use lifo_queue::schema;
use ratatui::style::Stylize;
use ratatui::text::Line;

use crate::overrides;
use crate::report::on_one_line;
use crate::sample::{Sample, WINDOW};
use crate::time_format::{rate, relative, rough, tenths};
use crate::verbs::{cause, longest_run, start_limits};

/// Width of the column with the names of the facts.
const NAME: usize = 11;

/// Returns the lines above the charts, for a screen of this width.
pub(super) fn facts(sample: &Sample, width: usize) -> Vec<Line<'static>> {
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
            let by = control.paused_by.as_ref();
            let by = by.map_or(String::new(), |by| format!(" (by {})", by.name));
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
    let created = sample.tasks.created;
    let least = if created.more { "at least " } else { "" };
    let run_time = sample.run_time().map_or("not measured".to_owned(), tenths);
    let flow = format!(
        "last {} s  created {least}{}/s, succeeded {}/s, failed {}/s",
        WINDOW.as_secs(),
        rate(created.per_second()),
        rate(succeeded),
        rate(failed),
    );
    // Omit a summary that would only repeat the reason of a pause or of an operator's hold.
    let has_reason = control.is_paused(now) || control.held_breaker(now).is_some();
    let summary = cause::summary(status, &sample.tasks).filter(|_| !has_reason);
    let summary = summary.map(|it| wrapped("summary", &it.to_string(), width));
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
            false if created.surplus(status).is_some() => Line::from(flow).yellow(),
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
        .tasks
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

/// Formats a fact, wrapped if the screen is narrow. Breaks words that are longer than a line.
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
