//! The page Failures: failed tasks grouped by their last error.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use lifo_queue::operate::{Find, Found, FoundTask};
use lifo_queue::schema;
use lifo_queue::task::TaskStatus;
use maud::{Markup, html};

use super::page::{Asked, age, change, link, page, payload_and_timeline, shown, task_link};
use super::site::Site;
use crate::failure::Failure;

/// Maximum number of failed tasks that are read.
const MOST_READ: usize = 500;

pub(super) async fn failures(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = groups(&site).await;
    page(&site, &fields, ("failures", "Failures"), content)
}

async fn groups(site: &Site) -> Result<Markup, Failure> {
    let find = Find {
        status: TaskStatus::Failure,
        created_from: None,
        after: None,
        error: None,
        limit: MOST_READ,
        max_items: MOST_READ,
    };
    let found = site.queue.operator.find(&find).await?;
    let groups = by_error(&found);
    Ok(html! {
        p {
            "Failed tasks read: " (found.tasks.len()) ", different last errors: " (groups.len()) ". "
            @if found.next.is_some() { "There are older ones, which were not read. " }
            a href="failures" { "Reload" }
        }
        @for (error, tasks) in &groups { (group(site, error, tasks)) }
        @if !groups.is_empty() {
            p.actions { (change(site, "Redrive all failed tasks…", "redrive", &[("all", "1")])) }
        }
    })
}

/// Groups tasks by their last error: the largest group first, and in a group the newest task first.
fn by_error(found: &Found) -> Vec<(&str, Vec<&FoundTask>)> {
    let mut groups = BTreeMap::<&str, Vec<&FoundTask>>::new();
    for task in &found.tasks {
        let error = task.text(schema::LAST_ERROR).unwrap_or_default();
        groups.entry(error).or_default().push(task);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, tasks)| std::cmp::Reverse(tasks.len()));
    groups
}

fn group(site: &Site, error: &str, tasks: &[&FoundTask]) -> Markup {
    let now = site.queue.clock.now();
    html! {
        section.failure {
            h2 { @if error.is_empty() { "No error was recorded" } @else { (error) } }
            p {
                "Tasks: " strong { (tasks.len()) }
                @if let Some(newest) = tasks.first() { ", the newest created " (age(newest.created, now)) " ago" }
            }
            @if let Some(newest) = tasks.first() {
                details {
                    summary { "The newest one" }
                    p { (task_link(&newest.id)) }
                    (payload_and_timeline(&shown(newest, now)))
                }
            }
            @if !error.is_empty() {
                p.actions {
                    a.button href=(link("tasks", &[("status", "failure"), ("error", error)])) { "List" }
                    (change(site, "Redrive…", "redrive", &[("error", error)]))
                }
            }
        }
    }
}
