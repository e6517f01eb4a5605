//! The frame of every page, and elements that multiple pages share.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::task::TaskId;
use lifo_queue::time::Millis;
use maud::{DOCTYPE, Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::site::Site;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::time_format::{self, exact, relative};
use crate::verbs::{Shown, task_id};

/// The fields of a query string or of a form.
pub(super) type Fields = BTreeMap<String, String>;

pub(super) type Asked = Query<Fields>;

/// Name of the field that contains the number of the outcome to show.
pub(super) const OUTCOME: &str = "outcome";

const MENU: [(&str, &str); 6] = [
    ("./", "Queue"),
    ("tasks", "Tasks"),
    ("groups", "Groups"),
    ("errors", "Errors"),
    ("doctor", "Doctor"),
    ("agents", "Agents"),
];

/// Renders a page with its title and content. `menu` is the address of the menu entry to mark.
pub(super) fn page(
    site: &Site,
    fields: &Fields,
    (menu, title): (&str, &str),
    content: Result<Markup>,
) -> Response {
    let (status, content) = match content {
        Ok(content) => (StatusCode::OK, content),
        Err(failure) => (status(&failure), problem(&failure.line())),
    };
    let outcome = fields.get(OUTCOME).and_then(|number| number.parse().ok());
    let outcome = outcome.and_then(|number| site.outcome(number));
    let changes = site.access.allows_changes();
    let frame = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (site.state()) (title) " – " (site.queue.name) " – freshq" }
                link rel="stylesheet" href="console.css";
                script src="console.js" defer {}
            }
            body data-every=(site.every.as_millis()) {
                a.skip href="#main" { "Skip to the content" }
                header {
                    strong { "freshq" } " " span { (site.queue.name) " in " (site.account) }
                    nav aria-label="Pages" {
                        @for (address, name) in MENU {
                            a href=(address) aria-current=[(address == menu).then_some("page")] { (name) }
                        }
                    }
                    span.mode { @if changes { "changes allowed" } @else { "read-only" } }
                }
                p #connection role="status" {}
                main #main tabindex="-1" {
                    h1 { (title) }
                    @if let Some(outcome) = outcome {
                        pre.outcome.problem[!outcome.done] role="status" tabindex="-1" autofocus { (outcome.text) }
                    }
                    (content)
                }
            }
        }
    };
    (status, Html(frame.into_string())).into_response()
}

fn status(failure: &Failure) -> StatusCode {
    match failure.exit() {
        Exit::Usage => StatusCode::BAD_REQUEST,
        _ => StatusCode::BAD_GATEWAY,
    }
}

/// Renders an error message.
pub(super) fn problem(line: &str) -> Markup {
    html! { p.problem role="alert" { (line) } }
}

/// Returns the address of a page with these fields as its query string.
pub(super) fn link(page: &str, fields: &[(&str, &str)]) -> String {
    let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(value)));
    match fields.collect::<Vec<_>>().join("&") {
        fields if fields.is_empty() => page.to_owned(),
        fields => format!("{page}?{fields}"),
    }
}

/// Renders a link to the confirmation of a change, or nothing if the console is read-only.
pub(super) fn change(site: &Site, name: &str, change: &str, fields: &[(&str, &str)]) -> Markup {
    html! {
        @if site.access.allows_changes() {
            a.button href=(link(change, fields)) { (name) }
        }
    }
}

/// Renders a task id as a link to the task's page.
pub(super) fn task_link(id: &TaskId) -> Markup {
    html! { a href=(link("task", &[("id", id.as_str())])) { (id) } }
}

pub(super) fn task_of(fields: &Fields, name: &'static str) -> Result<TaskId> {
    let text = fields.get(name).map_or("", String::as_str);
    task_id(text).map_err(|fault| Failure::input(name, fault))
}

/// Renders the time since `at`, with the exact time as a tooltip.
pub(super) fn age(at: Millis, now: Millis) -> Markup {
    html! { time datetime=(exact(at)) title=(exact(at)) { (time_format::age(at, now)) } }
}

/// Renders a table, or the sentence `none` if there are no rows.
pub(super) fn table<const N: usize>(
    caption: &str,
    head: [&str; N],
    rows: Vec<[Markup; N]>,
    none: &str,
) -> Markup {
    html! {
        @if rows.is_empty() {
            p { (none) }
        } @else {
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                    tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
                }
            }
        }
    }
}

/// Renders a task's payload and timeline.
pub(super) fn payload_and_timeline(shown: &Shown) -> Markup {
    let timeline = shown.timeline();
    html! {
        h3 { "Payload" }
        @match shown.attributes.get(schema::PAYLOAD) {
            None => p { "The task has no payload." },
            Some(payload) => pre tabindex="0" { (format!("{payload:#}")) },
        }
        h3 { "Timeline" }
        ol.timeline {
            @for (at, says) in timeline {
                li { time datetime=(exact(at)) { (exact(at)) } " (" (relative(at, shown.now)) "): " (says) }
            }
        }
    }
}

pub(super) fn shown(task: &FoundTask, now: Millis) -> Shown {
    Shown {
        now,
        attributes: task.attributes.clone(),
    }
}
