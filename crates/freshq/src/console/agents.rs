//! The page Agents: queues, pending calls and agents, read with commands to the desk.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use super::page::{Asked, Fields, link, page, problem, table};
use super::site::Site;
use crate::agents::{Agents, DeskVerb, Queues, send};
use crate::failure::Failure;
use crate::function::Function;
use crate::report::Report;

/// Maximum number of agents on a page.
const LISTED: u32 = 100;

pub(super) async fn agents(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = match &site.desk {
        Ok(desk) => desk_page(&**desk, &fields).await,
        Err(why) => Ok(problem(why)),
    };
    page(&site, &fields, ("agents", "Agents"), content)
}

async fn desk_page(desk: &dyn Function, fields: &Fields) -> Result<Markup, Failure> {
    let queues = ask(desk, &Queues {}).await?;
    let after = fields.get("after").cloned();
    let agents = ask(
        desk,
        &Agents {
            limit: LISTED,
            after,
        },
    )
    .await?;
    let next = agents["next"].as_str();
    let head = ["Agent", "Name", "Status", "Attributes"];
    Ok(html! {
        section #queues data-live {
            h2 { "Queues" }
            (rows("Agents queued", ["Queue", "Agents"], &queues["queues"], ["queue", "depth"], "No queue exists yet."))
            h2 { "Pending calls" }
            (rows("Calls pending", ["Criteria", "Calls"], &queues["waiting"], ["criteria", "depth"], "No call is pending."))
        }
        section #agents data-live {
            h2 { "Agents" }
            (rows("Agents by id", head, &agents["agents"], ["agentId", "name", "status", "attributes"], "No agent is registered."))
            @if let Some(next) = next { p { a href=(link("agents", &[("after", next)])) { "More agents" } } }
        }
    })
}

async fn ask(desk: &dyn Function, verb: &dyn DeskVerb) -> Result<Value, Failure> {
    Ok(send(verb, desk).await?.json())
}

fn rows<const N: usize>(
    caption: &str,
    head: [&str; N],
    objects: &Value,
    names: [&str; N],
    none: &str,
) -> Markup {
    let objects = objects.as_array().into_iter().flatten();
    let rows = objects.map(|object| names.map(|name| cell(&object[name])));
    table(caption, head, rows.collect(), none)
}

fn cell(value: &Value) -> Markup {
    match value {
        Value::Null => html! {},
        Value::String(text) => html! { (text) },
        other => html! { (other) },
    }
}
