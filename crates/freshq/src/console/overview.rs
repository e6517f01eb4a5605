//! The first page: the state of the queue.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::store::Candidate;
use lifo_queue::time::Millis;
use maud::{Markup, html};

use super::chart::chart;
use super::page::{Asked, age, change, page, problem, table, task_link};
use super::site::Site;
use crate::sample::{Figures, History, Sample, WINDOW, started};
use crate::time_format::{exact, relative, rough};
use crate::verbs::StatusReport;

/// The facts of `freshq status` that the page shows.
const FACTS: [&str; 9] = [
    "as of",
    "paused",
    "processor",
    "circuit breaker",
    "PENDING",
    "oldest PENDING",
    "TAKEN",
    "FAILURE",
    "overloaded",
];

pub(super) async fn overview(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let looks = site.looks().await;
    let content = html! {
        div #warnings data-live role="status" { (warnings(&looks)) }
        @if let Some(sample) = &looks.last {
            section #state data-live aria-labelledby="state-title" { (state(&site, sample)) }
            section #charts data-live aria-labelledby="charts-title" { (charts(&looks, sample)) }
            section #running data-live aria-labelledby="running-title" { (running(sample)) }
            section #pending data-live aria-labelledby="pending-title" { (pending(sample)) }
        }
    };
    page(&site, &fields, ("./", "Queue"), Ok(content))
}

/// Warnings. They have no relative times, so that a screen reader repeats them only after a change.
fn warnings(looks: &History) -> Markup {
    let sample = looks.last.as_ref();
    let control = sample.map(|sample| (&sample.status.control, sample.status.now));
    html! {
        @if let Some(why) = &looks.failure { (problem(&format!("The last sample failed: {why}"))) }
        @if let Some((control, now)) = control {
            @if let Some(until) = control.paused_until.filter(|_| control.is_paused(now)) {
                p.warning {
                    "The queue is paused until " (exact(until)) ": "
                    (control.pause_reason.as_deref().unwrap_or("no reason given"))
                }
            }
            @if control.breaker.is_some() || control.held_breaker(now).is_some() {
                p.warning { "The circuit breaker is open: only probes start." }
            }
        }
    }
}

fn state(site: &Site, sample: &Sample) -> Markup {
    let status = &sample.status;
    let report = StatusReport {
        queue: site.queue.name.clone(),
        account: site.account.clone(),
        status: status.clone(),
    };
    let paused = status.control.is_paused(status.now);
    let facts = report.rows().into_iter();
    let facts = facts.filter(|(name, _)| FACTS.contains(name));
    html! {
        h2 #state-title { "State" }
        dl {
            @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
        }
        p.actions {
            @if paused { (change(site, "Resume…", "resume", &[])) }
            (change(site, "Pause…", "pause", &[]))
        }
    }
}

fn charts(looks: &History, sample: &Sample) -> Markup {
    let now = sample.status.now;
    let points = |figure: fn(&Figures) -> Option<f64>| -> Vec<(Millis, f64)> {
        let figures = looks.figures.iter();
        figures
            .filter_map(|look| Some((look.at, figure(look)?)))
            .collect()
    };
    let [pending, taken, success, failure] = sample.recent;
    let least = if sample.more { "at least " } else { "" };
    let rate = format!("{least}{:.1}", sample.created_per_second());
    let start_age = sample.start_age.map_or("no task runs".to_owned(), rough);
    html! {
        h2 #charts-title { "Charts" }
        div.charts {
            (chart("Pending tasks", &sample.status.pending.to_string(), &points(|look| Some(look.pending.into())), now))
            (chart("Created per second", &rate, &points(|look| Some(look.created_per_second)), now))
            (chart("Age at start in seconds", &start_age, &points(|look| look.start_age.map(|age| age.as_secs_f64())), now))
        }
        p {
            "Created in the last " (WINDOW.as_secs()) " s: " (success) " succeeded, " (failure) " failed, "
            (taken) " running, " (pending) " pending."
        }
    }
}

fn running(sample: &Sample) -> Markup {
    let now = sample.status.now;
    let row = |task: &FoundTask| {
        let started = started(task);
        [
            task_link(&task.id),
            html! { @if let Some(started) = started { (rough(started.since(task.created))) } },
            html! { @if let Some(started) = started { (age(started, now)) } },
            html! { (task.number(schema::ATTEMPTS).unwrap_or(0)) },
            html! { @if let Some(until) = task.number(schema::LEASE_UNTIL) { (relative(Millis(until), now)) } },
        ]
    };
    let rows = sample.running.iter().map(row).collect();
    let head = [
        "Task",
        "Age at start",
        "Running for",
        "Attempts",
        "Lease ends",
    ];
    html! {
        h2 #running-title { "Running tasks: " (sample.status.taken) }
        (table("The newest running tasks", head, rows, "No task is running."))
    }
}

fn pending(sample: &Sample) -> Markup {
    html! {
        h2 #pending-title { "Pending tasks: " (sample.status.pending) }
        div.columns {
            (candidates("The newest pending tasks", &sample.newest, sample.status.now))
            (candidates("The oldest pending tasks", &sample.oldest, sample.status.now))
        }
    }
}

fn candidates(caption: &str, tasks: &[Candidate], now: Millis) -> Markup {
    let row = |task: &Candidate| {
        let not_before = task.not_before.filter(|at| *at > now);
        [
            task_link(&task.id),
            age(task.created, now),
            html! { @if let Some(at) = not_before { (relative(at, now)) } @else { "now" } },
        ]
    };
    let rows = tasks.iter().map(row).collect();
    html! { div { (table(caption, ["Task", "Age", "May start"], rows, "No task is pending.")) } }
}
