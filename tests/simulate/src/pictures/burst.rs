//! A burst as a timeline: one row per task, with a thin line while it is pending and a bar while it runs.

use std::collections::BTreeMap;

use lifo_queue::time::Millis;
use maud::{Markup, html};
use simulator::cloud::BEGIN;

use super::card::{LEFT, RIGHT, card, text};
use crate::experiments::BURST_LASTS;
use crate::figures::{Played, Run};

const TOP: f64 = 112.0;
const HEIGHT: f64 = 232.0;
const GAP: f64 = 36.0;
const PANEL: f64 = (RIGHT - LEFT - GAP) / 2.0;

/// Draws the same burst in arrival order and newest first.
pub(super) fn picture(arrival: &Played, newest: &Played) -> Markup {
    let body = html! {
        (panel(LEFT, "Arrival order: every later task waits, too", arrival, "other"))
        (panel(LEFT + PANEL + GAP, "freshq: only the burst waits", newest, "freshq"))
    };
    card(
        TOP + HEIGHT + 48.0,
        "A burst delays only itself",
        "One row per task, in the order of arrival. Thin line: pending. Bar: running",
        &body,
    )
}

fn panel(left: f64, title: &str, played: &Played, class: &str) -> Markup {
    let rows = rows(played);
    let seconds = BURST_LASTS.as_secs_f64();
    let x = |at: Millis| left + (at.since(BEGIN).as_secs_f64() / seconds).min(1.0) * PANEL;
    let step = HEIGHT / rows.len().max(1) as f64;
    let bottom = TOP + HEIGHT;
    html! {
        (text(left, TOP - 14.0, if class == "freshq" { "freshq strong" } else { "ink" }, title))
        @for (place, (created, run)) in (0_u32..).zip(&rows) {
            @let y = TOP + (f64::from(place) + 0.5) * step;
            @let (start, end) = run.map_or((x(*created).max(left + PANEL), left + PANEL), |run| (x(run.started), x(run.ended)));
            path class="wait" d=(format!("M{:.1} {y:.1}H{start:.1}", x(*created))) {}
            @if end > start {
                rect class={ "bar " (class) } x=(format!("{start:.1}")) y=(format!("{:.1}", y - step * 0.42))
                    width=(format!("{:.1}", end - start)) height=(format!("{:.1}", step * 0.84)) {}
            }
        }
        path class="axis" d=(format!("M{left:.1} {bottom}h{PANEL}")) {}
        @for (second, anchor) in [(0.0, "muted"), (5.0, "muted middle"), (10.0, "muted middle"), (15.0, "muted end")] {
            (text(left + second / seconds * PANEL, bottom + 20.0, anchor, &format!("{second} s")))
        }
    }
}

/// Returns each task in arrival order with its successful run. Tasks with the same creation time
/// are interchangeable, so any of their runs will do.
fn rows(played: &Played) -> Vec<(Millis, Option<Run>)> {
    let mut runs: BTreeMap<Millis, Vec<Run>> = BTreeMap::new();
    for run in played.runs.iter().filter(|run| run.success) {
        runs.entry(run.created).or_default().push(*run);
    }
    for of_time in runs.values_mut() {
        of_time.sort_by_key(|run| std::cmp::Reverse(run.started));
    }
    let mut created = played.created.clone();
    created.sort_unstable();
    created
        .into_iter()
        .map(|at| (at, runs.get_mut(&at).and_then(Vec::pop)))
        .collect()
}
