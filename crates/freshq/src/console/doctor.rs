//! The Doctor page: the findings of `freshq doctor` for both queues. Only loading the page runs the
//! checks.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};

use super::page::{Asked, page, problem};
use super::site::Site;
use crate::failure::{Failure, Result};
use crate::verbs::Checkup;

pub(super) async fn doctor(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let (tasks, agents) = tokio::join!(Checkup::of(&site.queue), of_agents(&site));
    let content = html! {
        p { a href="doctor" { "Check again" } }
        (shown(&tasks))
        @match &agents {
            Ok(Ok(agents)) => (shown(agents)),
            Ok(Err(failure)) => (problem(&format!("The agents' queue is not checked: {}", failure.line()))),
            Err(why) => p { "The agents' queue is not checked: " (why) "." },
        }
    };
    page(&site, &fields, ("doctor", "Doctor"), Ok(content))
}

/// Checks the agents' queue, or returns the reason why it is unknown.
async fn of_agents(site: &Site) -> Result<Result<Checkup>, &String> {
    match &site.agents {
        Ok(agents) => Ok(Checkup::of_agents(agents).await),
        Err(why) => Err(why),
    }
}

fn shown(checkup: &Checkup) -> Markup {
    let failures = checkup.unchecked.iter();
    let (local, failures): (Vec<_>, Vec<_>) =
        failures.partition(|(_, failure)| matches!(failure, Failure::NotLocal));
    html! {
        h2 { (checkup.queue) }
        p {
            @if checkup.has_stack { "Settings checked: " } @else { "Checks of the state: " } (checkup.checked)
            ", findings: " strong { (checkup.findings.len()) }
            ", not checked: " (checkup.unchecked.len()) "."
        }
        @if let Some(downstream) = &checkup.downstream { p { "Downstream: " (downstream) } }
        @if let Some(late) = &checkup.late { p.warning { (late) } }
        @for finding in &checkup.findings {
            section.failure {
                h3 { (finding.place) }
                p { strong { (finding.what) } }
                p { "Why it matters: " (finding.why) "." }
                h4 { "Remedy" }
                p { (finding.remedy) "." }
            }
        }
        @for (place, failure) in failures { (problem(&format!("Not checked: {place}: {}", failure.line()))) }
        @if !local.is_empty() {
            p { "Resources that a local AWS does not support: " (local.len()) "." }
        }
    }
}
