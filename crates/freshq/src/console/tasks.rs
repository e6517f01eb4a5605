//! The Tasks page, which lists tasks by status, and the page of a single task.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use clap::ValueEnum;
use lifo_queue::operate::{Find, FoundTask};
use lifo_queue::schema;
use lifo_queue::store::Cursor;
use lifo_queue::task::{GroupName, TaskStatus};
use lifo_queue::time::Millis;
use maud::{Markup, html};

use super::page::{
    Asked, Fields, age, change, link, page, payload_and_timeline, table, task_link, task_of,
};
use super::site::Site;
use crate::failure::{Failure, Result};
use crate::time_format::relative;
use crate::verbs::{Shown, StatusName, group_name, missing, payload_preview, run};

/// Maximum number of tasks on a page.
const LISTED: usize = 50;

/// Maximum number of tasks to read when a page searches last errors or payloads for a text.
const MOST_READ: usize = 1_000;

/// Maximum number of characters of a payload in a table.
pub(super) const PAYLOAD_WIDTH: usize = 80;

/// Titles of the columns that [`row`] returns.
pub(super) const HEAD: [&str; 5] = ["Task", "Age", "Attempts", "Last error", "Payload"];

pub(super) async fn tasks(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = list(&site, &fields).await;
    page(&site, &fields, ("tasks", "Tasks"), content)
}

pub(super) async fn task(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = one(&site, &fields).await;
    page(&site, &fields, ("tasks", "Task"), content)
}

async fn list(site: &Site, fields: &Fields) -> Result<Markup> {
    let wanted = fields.get("status").map_or("pending", String::as_str);
    let status = StatusName::from_str(wanted, true).ok();
    let status = status.map(StatusName::statuses).unwrap_or_default();
    let [status] = status[..] else {
        let fault = format!("{wanted:?} is not pending, taken, success or failure");
        return Err(Failure::input("status", fault));
    };
    let given = |name| fields.get(name).filter(|text| !text.is_empty());
    let [error, payload, group] = ["error", "payload", "group"].map(given);
    let group = group.map(|name| group_name(name)).transpose();
    let group = group.map_err(|fault| Failure::input("group", fault))?;
    let named = group.as_ref().map_or("", GroupName::as_str);
    let find = Find {
        after: fields.get("after").map(|place| cursor(place)).transpose()?,
        error: error.cloned(),
        payload: payload.cloned(),
        group: group.clone(),
        max_items: MOST_READ,
        ..Find::newest(status, LISTED)
    };
    let found = site.queue.operator.find(&find).await?;
    let now = site.queue.clock.now();
    let rows = found.tasks.iter().map(|task| row(task, now)).collect();
    let next = found.next.map(|next| next.to_string());
    Ok(html! {
        nav aria-label="Status" {
            @for name in ["pending", "taken", "success", "failure"] {
                a href=(link("tasks", &of_group(&[("status", name)], named))) aria-current=[(name == wanted).then_some("page")] {
                    (name.to_uppercase())
                }
            }
        }
        form.filter method="get" action="tasks" {
            input type="hidden" name="status" value=(wanted);
            @if group.is_some() { input type="hidden" name="group" value=(named); }
            label { "Text or pattern in the last error " input name="error" value=(error.map_or("", String::as_str)); }
            label { "Text in the payload " input name="payload" value=(payload.map_or("", String::as_str)); }
            button { "Filter" }
        }
        form.filter method="get" action="task" {
            label for="id" { "Task id" }
            input #id name="id" required;
            button { "Show" }
        }
        @if let Some(group) = &group { p { "Only tasks of group " (group) "." } }
        (table("Tasks, newest first", HEAD, rows, "No such task was found."))
        p { "Tasks read: " (found.items) "." }
        @if let Some(next) = next {
            @let [error, payload] = [error, payload].map(|text| text.map_or("", String::as_str));
            @let place = [("status", wanted), ("error", error), ("payload", payload), ("after", next.as_str())];
            p { a href=(link("tasks", &of_group(&place, named))) { "Older tasks" } }
        }
        @if let (Some(error), None, None, TaskStatus::Failure) = (error, payload, &group, status) {
            p.actions { (change(site, "Redrive all with this text…", "redrive", &[("error", error)])) }
        }
    })
}

/// Returns the fields of a link, including the group if the page shows one.
fn of_group<'a>(fields: &[(&'a str, &'a str)], group: &'a str) -> Vec<(&'a str, &'a str)> {
    let group = (!group.is_empty()).then_some(("group", group));
    fields.iter().copied().chain(group).collect()
}

fn cursor(place: &str) -> Result<Cursor> {
    place.parse().map_err(|error| {
        let fault = format!("{place:?} is not a place in the list: {error}");
        Failure::input("after", fault)
    })
}

pub(super) fn row(task: &FoundTask, now: Millis) -> [Markup; 5] {
    [
        task_link(&task.id),
        html! {
            (age(task.created, now))
            @if let Some(at) = task.number(schema::NOT_BEFORE).map(Millis).filter(|at| *at > now) {
                ", may start " (relative(at, now))
            }
            @if task.text(schema::TASK_STATUS) == Some("TAKEN") { ", " (run(task, now)) }
        },
        html! { (task.number(schema::ATTEMPTS).unwrap_or(0)) },
        html! { (task.text(schema::LAST_ERROR).unwrap_or_default()) },
        html! { code { (payload_preview(task, PAYLOAD_WIDTH)) } },
    ]
}

async fn one(site: &Site, fields: &Fields) -> Result<Markup> {
    let id = task_of(fields, "id")?;
    let Some(attributes) = site.queue.operator.show(&id).await? else {
        return Ok(html! { pre tabindex="0" { (missing(&id)) } });
    };
    let shown = Shown {
        now: site.queue.clock.now(),
        attributes,
    };
    let status = shown.attributes.get(schema::TASK_STATUS);
    let status = status
        .and_then(|status| status.as_str())
        .unwrap_or_default();
    let is = |wanted: TaskStatus| wanted.to_string() == status;
    Ok(html! {
        p.actions {
            @if is(TaskStatus::Failure) { (change(site, "Redrive…", "redrive", &[("task", id.as_str())])) }
            @if is(TaskStatus::Pending) { (change(site, "Cancel…", "cancel", &[("task", id.as_str())])) }
        }
        dl.attributes {
            @for (name, value) in shown.rows() { div { dt { (name) } dd { (value) } } }
        }
        (payload_and_timeline(&shown))
    })
}
