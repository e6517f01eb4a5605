//! The Doctor page: the findings of `freshq doctor`. Only loading the page runs the checks.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};

use super::page::{Asked, page, problem};
use super::site::Site;
use crate::failure::Failure;
use crate::verbs::Checkup;

pub(super) async fn doctor(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = Checkup::of(&site.queue).await;
    page(
        &site,
        &fields,
        ("doctor", "Doctor"),
        content.map(|checkup| shown(&checkup)),
    )
}

fn shown(checkup: &Checkup) -> Markup {
    let failures = checkup.unchecked.iter();
    let (local, failures): (Vec<_>, Vec<_>) =
        failures.partition(|(_, failure)| matches!(failure, Failure::NotLocal));
    html! {
        p {
            "Settings checked: " (checkup.checked) ", findings: " strong { (checkup.findings.len()) }
            ", not checked: " (checkup.unchecked.len()) ". " a href="doctor" { "Check again" }
        }
        @if let Some(downstream) = &checkup.downstream { p { "Downstream: " (downstream) } }
        @if let Some(late) = &checkup.late { p.warning { (late) } }
        @for finding in &checkup.findings {
            section.failure {
                h2 { (finding.place) }
                p { strong { (finding.what) } }
                p { "Why it matters: " (finding.why) "." }
                h3 { "Remedy" }
                p { (finding.remedy) "." }
            }
        }
        @for (place, failure) in failures { (problem(&format!("Not checked: {place}: {}", failure.line()))) }
        @if !local.is_empty() {
            p { "Resources that a local AWS does not support: " (local.len()) "." }
        }
    }
}
