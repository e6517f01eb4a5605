//! Pause, resume, limit, redrive, cancel and the circuit breaker. GET asks for a confirmation, POST makes the change.
//!
//! The command-line verbs make the changes, so their rules and messages apply here too.

mod fields;

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use clap::ValueEnum;
use lifo_queue::control::{Control, GroupOverride};
use lifo_queue::task::GroupName;
use lifo_queue::time::Millis;
use maud::{Markup, html};

use self::fields::{group, limit_of, redrive, text, time};
use super::access::Rejected;
use super::page::{Asked, Fields, OUTCOME, link, page, task_of};
use super::site::Site;
use crate::confirm::Prompt;
use crate::failure::Result;
use crate::overrides;
use crate::verbs::{Cancel, Close, Limit, Open, Pause, Redrive, Resume, VerbOnQueue, limit, pause};

/// A change that the pages offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Change {
    Pause,
    Resume,
    Limit,
    Unlimit,
    Redrive,
    Cancel,
    Open,
    Close,
}

/// Confirms every prompt, because the page has already asked for confirmation.
struct Confirmed;

impl Prompt for Confirmed {
    fn answer(&mut self, _: &str, _: &'static str) -> Result<String> {
        Ok("yes".to_owned())
    }
}

/// Shows the page that asks for the confirmation.
pub(super) async fn confirmation(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Query(fields): Asked,
) -> Response {
    let Ok(change) = Change::from_str(&name, false) else {
        return missing(&name);
    };
    if !site.access.allows_changes() {
        return Rejected::ReadOnly.into_response();
    }
    let content = change.question(&site, &fields).await;
    page(
        &site,
        &fields,
        (change.page(&fields), change.title()),
        content,
    )
}

/// Makes the change and redirects to a page that shows the outcome.
pub(super) async fn carry_out(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Query(mut fields): Asked,
    Form(answers): Form<Fields>,
) -> Response {
    let Ok(change) = Change::from_str(&name, false) else {
        return missing(&name);
    };
    fields.extend(answers);
    let outcome = match change.verb(&fields) {
        Ok(verb) => verb.run(&site.queue, &mut Confirmed).await,
        Err(failure) => Err(failure),
    };
    let outcome = site.note(outcome).to_string();
    let task = fields.get("task").map_or("", String::as_str);
    let mut shows = vec![(OUTCOME, outcome.as_str())];
    let next = change.page(&fields);
    if next == "task" {
        shows.push(("id", task));
    }
    Redirect::to(&link(next, &shows)).into_response()
}

fn missing(page: &str) -> Response {
    let text = format!("404: there is no page {page}\n");
    (StatusCode::NOT_FOUND, text).into_response()
}

impl Change {
    fn title(self) -> &'static str {
        match self {
            Self::Pause => "Pause the queue",
            Self::Resume => "Resume the queue",
            Self::Limit => "Limit starts",
            Self::Unlimit => "End the limit",
            Self::Redrive => "Redrive",
            Self::Cancel => "Cancel a task",
            Self::Open => "Open the circuit breaker",
            Self::Close => "Close the circuit breaker",
        }
    }

    /// Returns the address of the page to show after the change.
    fn page(self, fields: &Fields) -> &'static str {
        match self {
            Self::Redrive if fields.contains_key("task") => "task",
            Self::Redrive => "errors",
            _ if fields.contains_key("group") => "groups",
            _ => "./",
        }
    }

    fn verb(self, fields: &Fields) -> Result<Box<dyn VerbOnQueue>> {
        Ok(match self {
            Self::Pause => Box::new(Pause {
                time: time(fields, "for")?,
                reason: text(fields, "reason")?,
                group: group(fields)?,
                yes: true,
            }),
            Self::Limit => Box::new(limit_of(fields)?),
            Self::Unlimit => Box::new(Limit {
                group: group(fields)?,
                off: true,
                ..Limit::default()
            }),
            Self::Open => Box::new(Open {
                time: time(fields, "for")?,
                reason: text(fields, "reason")?,
            }),
            Self::Close => Box::new(Close {}),
            Self::Resume => Box::new(Resume {
                group: group(fields)?,
            }),
            Self::Redrive => Box::new(redrive(fields, time(fields, "ttl")?)?),
            Self::Cancel => Box::new(Cancel {
                tasks: vec![task_of(fields, "task")?],
                ..Cancel::default()
            }),
        })
    }

    /// Returns the text of the confirmation, and a form that makes the change.
    async fn question(self, site: &Site, fields: &Fields) -> Result<Markup> {
        let group = group(fields)?;
        let queue = match &group {
            None => site.queue.place().await,
            Some(group) => format!("group {group} of {}", site.queue.place().await),
        };
        // Pass the fields in the URL, because browsers change line breaks in form inputs.
        let which = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let which = which.collect::<Vec<_>>();
        let home = if group.is_some() { "groups" } else { "./" };
        let task = fields.get("task").map(String::as_str);
        let back = |otherwise: &str| match task {
            Some(task) => link("task", &[("id", task)]),
            None => otherwise.to_owned(),
        };
        Ok(match self {
            Self::Pause => {
                let question = format!(
                    "No task of {queue} will start in this time. Running tasks finish. Tasks that expire in this time never start: by default after 1 h."
                );
                let action = link("pause", &which);
                form(action, &question, time_and_reason(), "Pause", home)
            }
            Self::Limit => {
                let question = format!(
                    "Fewer tasks of {queue} will start in this time. Running tasks finish. A value above the deployed setting has no effect. Replaces an earlier limit."
                );
                let inputs = html! {
                    label for="rate" { "Starts per second, for example 5; empty for no change" }
                    input #rate name="rate" inputmode="decimal";
                    label for="concurrency" { "Concurrent tasks, for example 3; empty for no change" }
                    input #concurrency name="concurrency" inputmode="numeric";
                    (time_and_reason())
                };
                form(link("limit", &which), &question, inputs, "Limit", home)
            }
            Self::Unlimit => {
                let limit = standing(site, group, limit::stands, overrides::limit_of_group).await?;
                let limit = limit.unwrap_or_else(|| "it is not limited".to_owned());
                let question = format!("End the limit of {queue}?\n{limit}");
                let action = link("unlimit", &which);
                form(action, &question, html! {}, "End the limit", home)
            }
            Self::Open => {
                let question = format!("Only probes of {queue} will start in this time.");
                form(
                    "open".to_owned(),
                    &question,
                    time_and_reason(),
                    "Open",
                    "./",
                )
            }
            Self::Close => {
                let question = format!("Close the circuit breaker of {queue} and wake the queue?");
                form("close".to_owned(), &question, html! {}, "Close", "./")
            }
            Self::Resume => {
                let pause = standing(site, group, pause::stands, overrides::pause_of_group).await?;
                let pause = pause.unwrap_or_else(|| "it is not paused".to_owned());
                let question = format!("End the pause of {queue} and wake the queue?\n{pause}");
                form(link("resume", &which), &question, html! {}, "Resume", home)
            }
            Self::Redrive => {
                let question = question_of_redrive(site, fields).await?;
                let inputs = html! {
                    label for="ttl" { "Time until the new expiry" }
                    input #ttl name="ttl" value="1h" required;
                };
                let action = link("redrive", &which);
                form(action, &question, inputs, "Redrive", &back("errors"))
            }
            Self::Cancel => {
                let task = task_of(fields, "task")?;
                let action = link("cancel", &[("task", task.as_str())]);
                let question =
                    format!("Delete the pending task {task} of {queue}? It cannot be restored.");
                form(action, &question, html! {}, "Cancel the task", &back("./"))
            }
        })
    }
}

/// Returns the change that is stored for the queue or for one of its groups, as text.
async fn standing(
    site: &Site,
    group: Option<GroupName>,
    of_queue: fn(&Control, Millis) -> Option<String>,
    of_group: fn(&GroupOverride, Millis) -> Option<String>,
) -> Result<Option<String>> {
    let (store, now) = (&site.queue.store, site.queue.clock.now());
    let Some(group) = group else {
        return Ok(of_queue(&store.control().await?, now));
    };
    let overrides = store.groups().await?.overrides;
    Ok(overrides
        .get(group.as_str())
        .and_then(|one| of_group(one, now)))
}

/// Renders the time and reason inputs of a pause, a limit and the circuit breaker.
fn time_and_reason() -> Markup {
    html! {
        label for="for" { "Duration, for example 30m" }
        input #for name="for" value="30m" required;
        label for="reason" { "Reason, for other operators" }
        input #reason name="reason" required autofocus;
    }
}

/// Renders a question, a form whose button confirms it, and a link back.
fn form(action: String, question: &str, inputs: Markup, yes: &str, back: &str) -> Markup {
    html! {
        pre.question { (question) }
        form.change method="post" action=(action) {
            (inputs)
            p.actions {
                button type="submit" { (yes) }
                a.button href=(back) { "Go back" }
            }
        }
    }
}

/// Returns the confirmation prompt for a redrive, with the dry run of a redrive of multiple tasks.
async fn question_of_redrive(site: &Site, fields: &Fields) -> Result<String> {
    let queue = site.queue.place().await;
    if fields.contains_key("task") {
        let task = task_of(fields, "task")?;
        return Ok(format!(
            "Retry task {task} of {queue}, with all its attempts and a new expiry?"
        ));
    }
    let dry_run = Redrive {
        dry_run: true,
        ..redrive(fields, Duration::ZERO)?
    };
    let report = dry_run.run(&site.queue, &mut Confirmed).await?;
    let which = match fields.get("error") {
        Some(error) => format!("all failed tasks with {error:?} in the last error"),
        None => "all failed tasks".to_owned(),
    };
    let text = report.text;
    Ok(format!(
        "Retry {which} of {queue}, with all their attempts and a new expiry?\n{text}"
    ))
}
