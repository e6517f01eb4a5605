//! The start page, which shows the state of the queue.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::time::Millis;
use maud::{Markup, html};

use super::chart::chart;
use super::page::{Asked, age, change, page, problem, table, task_link};
use super::site::Site;
use super::tasks;
use crate::overrides;
use crate::sample::{Figures, History, Sample, WINDOW, not_before, started};
use crate::time_format::{exact, rate, relative, rough, tenths};
use crate::verbs::{StatusReport, cause, pause, payload_preview};

/// Facts of `freshq status` that the page does not show.
const HIDDEN: [&str; 9] = [
    "summary",
    "queue",
    "account",
    "region",
    "wake-ups requested",
    "last notification",
    "idle turns in a row",
    "burst allowance",
    "redriven tasks",
];

pub(super) async fn overview(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let looks = site.looks().await;
    let content = html! {
        div #warnings data-live role="status" { (warnings(&looks)) }
        @if let Some(sample) = &looks.last {
            section #state data-live aria-labelledby="state-title" { (state(&site, sample)) }
            section #charts data-live aria-labelledby="charts-title" { (charts(&site, &looks, sample)) }
            section #failed data-live aria-labelledby="failed-title" { (failed(sample)) }
            section #running data-live aria-labelledby="running-title" { (running(sample)) }
            section #pending data-live aria-labelledby="pending-title" { (pending(sample)) }
        }
    };
    page(&site, &fields, ("./", "Queue"), Ok(content))
}

/// Renders warnings without relative times, so that a screen reader repeats only changed ones.
fn warnings(looks: &History) -> Markup {
    let sample = looks.last.as_ref();
    let control = sample.map(|sample| (&sample.status.control, sample.status.now));
    let summary = sample.and_then(|sample| cause::summary(&sample.status, &sample.tasks));
    html! {
        @if let Some(why) = &looks.failure { (problem(&format!("The last sample failed: {why}"))) }
        @if let Some((control, now)) = control {
            @if let Some(until) = control.paused_until.filter(|_| control.is_paused(now)) {
                p.warning {
                    "The queue is paused until " (exact(until)) ": "
                    (pause::reason(control)) ". Next: " a href="doctor" { "Doctor" }
                }
            }
            @if let Some(limit) = control.limit(now) {
                p.warning {
                    "Starts are limited to " (overrides::limit_values(limit)) " until " (exact(limit.until)) ": "
                    (limit.reason)
                }
            }
            @if control.is_breaker_open(now) && !control.is_paused(now) {
                p.warning {
                    "The circuit breaker is open: "
                    @if let Some(summary) = summary { (summary.text) }
                    // The facts below already show a response whose cause is known.
                    @if let Some(last) = control.observed.last_response.as_ref().filter(|last| cause::of_response(last).is_none()) {
                        "; " (cause::response(last))
                    }
                    ". Next: " a href="doctor" { "Doctor" }
                }
            }
        }
    }
}

fn state(site: &Site, sample: &Sample) -> Markup {
    let status = &sample.status;
    let report = StatusReport {
        queue: site.queue.name.clone(),
        account: site.account.clone(),
        tasks: sample.tasks.clone(),
        groups: sample.groups.clone(),
        status: status.clone(),
    };
    let (control, now) = (&status.control, status.now);
    let paused = control.is_paused(now);
    let open = control.is_breaker_open(now);
    // The warnings already show a pause and an open breaker, with the cause.
    let summary = report.cause().filter(|_| !paused && !open);
    let facts = report.rows().into_iter();
    let facts = facts.filter(|(name, _)| !HIDDEN.contains(name));
    let facts = facts.map(|(name, value)| match (name, control.paused_until) {
        // Omit the lease owner, because its id appears only in logs.
        ("processor", _) => (name, report.lease()),
        // The warning above contains the reason.
        ("paused", Some(until)) if paused => {
            let left = rough(until.since(now));
            (name, format!("until {}, {left} left", exact(until)))
        }
        _ => (name, value),
    });
    html! {
        @if let Some(summary) = summary {
            p.warning {
                (summary.text) ". Next: "
                @if summary.is_finding { a href="doctor" { "Doctor" } } @else { a href="tasks" { "Tasks" } }
            }
        }
        h2 #state-title { "State" }
        dl {
            @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
        }
        p.actions {
            @if paused { (change(site, "Resume…", "resume", &[])) }
            (change(site, "Pause…", "pause", &[]))
            (change(site, "Limit…", "limit", &[]))
            @if control.limit(now).is_some() { (change(site, "End the limit…", "unlimit", &[])) }
            @if open { (change(site, "Close the circuit breaker…", "close", &[])) }
            @else { (change(site, "Open the circuit breaker…", "open", &[])) }
        }
    }
}

/// Number of consecutive missing samples that break the line of a chart.
const MISSED: u32 = 3;

fn charts(site: &Site, looks: &History, sample: &Sample) -> Markup {
    let (now, gap) = (sample.status.now, MISSED * site.every);
    let from = looks.figures.front().map_or(now, |first| first.at);
    let drawn = |name: &str, latest: &str, figure: fn(&Figures) -> Option<f64>| {
        let figures = looks.figures.iter();
        let points = figures.filter_map(|look| Some((look.at, figure(look)?)));
        chart(name, latest, &points.collect::<Vec<_>>(), (from, now), gap)
    };
    let [pending, taken, success, failure] = sample.tasks.created.by_status;
    let created = sample.tasks.created;
    let least = if created.more { "at least " } else { "" };
    let created = format!("{least}{}", rate(created.per_second()));
    let (succeeded, failed) = sample.ended_per_second();
    let run_time = sample
        .run_time()
        .map_or("not measured yet".to_owned(), tenths);
    html! {
        h2 #charts-title { "Charts" }
        div.charts {
            (drawn("Pending tasks", &sample.status.pending.to_string(), |look| Some(look.pending.into())))
            (drawn("Created per second", &created, |look| Some(look.created_per_second)))
            (drawn("Succeeded per second", &rate(succeeded), |look| Some(look.ended_per_second.0)))
            (drawn("Failed per second", &rate(failed), |look| Some(look.ended_per_second.1)))
            (drawn("Median run time", &run_time, |look| look.run_time.map(|time| time.as_secs_f64())))
            (drawn("Age at start", &looks.start_age_text(), |look| look.start_age.map(|age| age.as_secs_f64())))
        }
        p {
            "Rates are those of the last " (WINDOW.as_secs()) " s, and times are in seconds. A line breaks where nothing was read. "
            "The charts start at " (exact(from)) "."
        }
        p {
            "Created in the last " (WINDOW.as_secs()) " s: " (success) " succeeded, " (failure) " failed, "
            (taken) " running, " (pending) " pending."
        }
    }
}

fn failed(sample: &Sample) -> Markup {
    let row = |task| tasks::row(task, sample.status.now);
    let rows = sample.failed.iter().map(row).collect();
    html! {
        h2 #failed-title { "Failed tasks: " (sample.status.failed) }
        (table("The newest failed tasks", tasks::HEAD, rows, "No task has failed."))
    }
}

fn running(sample: &Sample) -> Markup {
    let now = sample.status.now;
    let row = |task: &FoundTask| {
        let started = started(task);
        [
            task_link(&task.id),
            html! { @if let Some(started) = started { (rough(started.since(task.created))) } },
            // The start time is from the processor's clock, which may be ahead of the local clock.
            html! { @if let Some(started) = started { (rough(now.since(started))) } },
            html! { (task.number(schema::ATTEMPTS).unwrap_or(0)) },
            html! { @if let Some(until) = task.number(schema::LEASE_UNTIL) { (relative(Millis(until), now)) } },
            html! { (payload_preview(task, tasks::PAYLOAD_WIDTH)) },
        ]
    };
    let mut tasks: Vec<_> = sample.tasks.running.iter().collect();
    tasks.sort_by_key(|task| started(task));
    let rows: Vec<_> = tasks.into_iter().map(row).collect();
    let taken = &sample.status.taken;
    let count = match rows.len() > taken.count as usize {
        true => rows.len().to_string(),
        false => taken.to_string(),
    };
    let head = [
        "Task",
        "Age at start",
        "Running for",
        "Attempts",
        "Lease ends",
        "Payload",
    ];
    let none = match taken.count {
        0 => "No task is running.",
        _ => "They ended before they were read.",
    };
    html! {
        // The number and the list lag behind the table, each by a different delay.
        h2 #running-title { "Running tasks: " (count) }
        (table("The longest running tasks", head, rows, none))
    }
}

fn pending(sample: &Sample) -> Markup {
    html! {
        h2 #pending-title { "Pending tasks: " (sample.status.pending) }
        div.columns {
            (candidates("The newest pending tasks", sample.newest(), sample))
            (candidates("The oldest pending tasks", &sample.tasks.oldest, sample))
        }
    }
}

fn candidates(caption: &str, tasks: &[FoundTask], sample: &Sample) -> Markup {
    let now = sample.status.now;
    let control = &sample.status.control;
    let open = control.is_breaker_open(now);
    let slots = control
        .observed
        .limits
        .map(|limits| u32::from(limits.concurrency));
    let is_full = slots.is_some_and(|slots| sample.status.taken.count >= slots);
    let soonest = match (control.is_paused(now), open) {
        (true, _) => "after the pause",
        (false, true) => "as a probe",
        (false, false) if is_full => "when a slot is free",
        (false, false) => "now",
    };
    let row = |task: &FoundTask| {
        let not_before = not_before(task).filter(|at| *at > now);
        [
            task_link(&task.id),
            age(task.created, now),
            html! { @if let Some(at) = not_before { (relative(at, now)) } @else { (soonest) } },
            html! { code { (payload_preview(task, tasks::PAYLOAD_WIDTH)) } },
        ]
    };
    let rows = tasks.iter().map(row).collect();
    html! { div { (table(caption, ["Task", "Age", "May start", "Payload"], rows, "No task is pending.")) } }
}
