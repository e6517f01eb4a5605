//! The Agents page: queues, pending calls and agents, fetched with commands to the desk.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::page::{Asked, Fields, link, page, problem, table};
use super::site::Site;
use crate::agents::{Agents, Calls, PENDING, Queues, agent, call, pending_calls, readable};
use crate::failure::Result;
use crate::function::Function;

/// Maximum number of agents on a page.
const LISTED: u32 = 100;

/// Maximum number of pending calls on the page.
const CALLS: u32 = 20;

pub(super) async fn agents(State(site): State<Arc<Site>>, Query(fields): Asked) -> Response {
    let content = match &site.agents {
        Ok(agents) => desk_page(&*agents.desk, &fields).await,
        Err(why) => Ok(problem(why)),
    };
    page(&site, &fields, ("agents", "Agents"), content)
}

async fn desk_page(desk: &dyn Function, fields: &Fields) -> Result<Markup> {
    let queues = desk.send(&json!(Queues {}).to_string()).await?;
    let after = fields.get("after").cloned();
    let limit = LISTED;
    let agents = desk
        .send(&json!(Agents { limit, after }).to_string())
        .await?;
    let next = agents["next"].as_str();
    let depths = queues["queues"].as_array().map_or(&[][..], Vec::as_slice);
    let queued = rows(&queues["queues"], |queue| {
        [readable(&queue["queue"]), queue["depth"].to_string()]
    });
    let pending = rows(&queues["pending"], |calls| pending_calls(calls, depths));
    let listed = rows(&agents["agents"], agent);
    let head = ["Agent", "Name", "Status", "Call", "Attributes"];
    Ok(html! {
        section #queues data-live {
            h2 { "Queues" }
            (table("Agents queued", ["Attributes", "Agents"], queued, "No queue exists yet."))
            h2 { "Pending calls" }
            (table("Calls pending", PENDING, pending, "No call is pending."))
            (oldest(desk).await)
        }
        section #agents data-live {
            h2 { "Agents" }
            (table("Agents by id", head, listed, "No agent is registered."))
            @if let Some(next) = next { p { a href=(link("agents", &[("after", next)])) { "More agents" } } }
        }
    })
}

/// Renders the oldest pending calls. An earlier release of the desk does not support the command.
async fn oldest(desk: &dyn Function) -> Markup {
    match desk.send(&json!(Calls { limit: CALLS }).to_string()).await {
        Ok(answer) => {
            let calls = rows(&answer["calls"], call);
            let head = ["Call", "Criteria", "Pending for"];
            html! { @if !calls.is_empty() { (table("The oldest pending calls", head, calls, "")) } }
        }
        Err(failure) => problem(&failure.line()),
    }
}

/// Returns one row per object of an array.
fn rows<const N: usize>(objects: &Value, row: impl Fn(&Value) -> [String; N]) -> Vec<[Markup; N]> {
    let objects = objects.as_array().into_iter().flatten();
    let rows = objects.map(|object| row(object).map(|cell| html! { (cell) }));
    rows.collect()
}
