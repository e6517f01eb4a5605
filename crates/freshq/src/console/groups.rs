//! The Groups page, for a queue with groups.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use lifo_queue::time::Millis;
use maud::{Markup, html};

use super::page::{Asked, age, change, link, page, table};
use super::site::Site;
use crate::failure::Result;
use crate::overrides::shown;
use crate::verbs::groups::{GroupsReport, Row};

/// Maximum number of groups on the page.
const LISTED: usize = 50;

/// Maximum number of index entries to read per status.
const MOST_READ: usize = 10_000;

pub(super) async fn groups(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = list(&site).await;
    page(&site, &fields, ("groups", "Groups"), content)
}

async fn list(site: &Site) -> Result<Markup> {
    let report = GroupsReport::read_from(&site.queue, MOST_READ, LISTED).await?;
    let (rows, all) = report.rows();
    let hidden = all - rows.len();
    let rows = rows
        .iter()
        .map(|row| cells(site, row, report.now))
        .collect();
    let head = [
        "Group", "Pending", "Running", "Newest", "Oldest", "State", "Change",
    ];
    let none = "No task is pending or running, and no group has a limit or a pause.";
    Ok(html! {
        (table("Groups, changed ones first", head, rows, none))
        @if hidden > 0 { p { "Groups that are not shown: " (hidden) "." } }
        p { (report.read()) "." }
    })
}

fn cells(site: &Site, row: &Row<'_>, now: Millis) -> [Markup; 7] {
    let of = [("group", row.name)];
    // Tasks without a group do not have their own limit.
    let named = !row.name.is_empty();
    [
        html! {
            @if named { a href=(link("tasks", &of)) { (row.name) } } @else { (shown(row.name)) }
        },
        html! { (row.depth.pending) },
        html! { (row.depth.taken) },
        html! { @if let Some(at) = row.depth.newest { (age(at, now)) } },
        html! { @if let Some(at) = row.depth.oldest { (age(at, now)) } },
        html! { (row.state(now)) },
        html! {
            @if named {
                @if row.pause.is_some() { (change(site, "Resume…", "resume", &of)) }
                @else { (change(site, "Pause…", "pause", &of)) }
                @if row.limit.is_some() { (change(site, "End the limit…", "unlimit", &of)) }
                @else { (change(site, "Limit…", "limit", &of)) }
            }
        },
    ]
}
