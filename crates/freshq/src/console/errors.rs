//! The Errors page: failed, pending and running tasks grouped by their last error.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use lifo_queue::task::TaskStatus;
use maud::{Markup, html};

use super::page::{Asked, age, change, link, page, payload_and_timeline, shown, task_link};
use super::site::Site;
use crate::failure::Result;
use crate::verbs::{Errors, Group};

/// Maximum number of tasks to read per status.
const MOST_READ: u32 = 500;

pub(super) async fn errors(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = groups(&site).await;
    page(&site, &fields, ("errors", "Errors"), content)
}

async fn groups(site: &Site) -> Result<Markup> {
    let errors = Errors {
        max_reads: MOST_READ,
        newer_than: None,
    };
    let errors = errors.read(&site.queue).await?;
    let has_failed = |group: &Group| group.of(TaskStatus::Failure) > 0;
    Ok(html! {
        p {
            "Failed, pending and running tasks read: " (errors.read) ", distinct last errors: "
            (errors.groups.len()) ". Numbers and ids in errors are replaced. "
            @if !errors.is_complete { "Older ones exist, but were not read. " }
            a href="errors" { "Reload" }
        }
        @for group in &errors.groups { (section(site, group)) }
        @if errors.groups.iter().any(has_failed) {
            p.actions { (change(site, "Redrive all failed tasks…", "redrive", &[("all", "1")])) }
        }
    })
}

fn section(site: &Site, group: &Group) -> Markup {
    let now = site.queue.clock.now();
    let (error, newest) = (group.pattern.as_str(), &group.newest);
    let failed = group.of(TaskStatus::Failure);
    let list = |status| link("tasks", &[("status", status), ("error", error)]);
    html! {
        section.failure {
            h2 { @if error.is_empty() { "No error was recorded" } @else { (error) } }
            p {
                "Tasks read: " strong { (group.count()) } " (" (group.statuses()) "), the newest created "
                (age(newest.created, now)) @if newest.created <= now { " ago" }
            }
            details {
                summary { "The newest one" }
                p { (task_link(&newest.id)) }
                (payload_and_timeline(&shown(newest, now)))
            }
            @if !error.is_empty() {
                p.actions {
                    @if failed > 0 { a.button href=(list("failure")) { "List failed" } }
                    @if group.of(TaskStatus::Pending) > 0 { a.button href=(list("pending")) { "List pending" } }
                    @if failed > 0 { (change(site, "Redrive…", "redrive", &[("error", error)])) }
                }
            }
        }
    }
}
