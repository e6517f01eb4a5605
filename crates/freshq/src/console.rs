//! `freshq console`: a local web page for a queue and the agents' queue.
//!
//! | module | content |
//! |---|---|
//! | `access` | which requests the console accepts |
//! | `site` | state of all pages: the queue, the samples and the outcomes of changes |
//! | `page` | the frame of every page |
//! | `overview`, `tasks`, `groups`, `errors`, `doctor`, `agents` | the pages |
//! | `changes` | pause, resume, redrive, cancel and the circuit breaker, each after a confirmation |
//! | `chart` | the charts, as SVG |

mod access;
mod agents;
mod changes;
mod chart;
mod doctor;
mod errors;
mod groups;
mod overview;
mod page;
mod site;
mod tasks;

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
use tokio::net::TcpListener;

use self::access::Access;
pub(crate) use self::access::local_only;
use self::site::Site;
use crate::agents::{AgentsQueue, connect, stack_of};
use crate::aws::{self, AwsArguments};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::queue::{Queue, QueueArguments, StackName};
use crate::report::Format;
use crate::time_format::parse_duration;

/// Interval between samples without an open page.
const PACE: Duration = Duration::from_secs(30);

/// Interval between samples of a queue of `freshq dev`, whose reads cost nothing.
const DEV_PACE: Duration = Duration::from_secs(5);

/// Serves a web page on 127.0.0.1 until Ctrl-C: depth, rates, ages at start, running, pending and failed
/// tasks, the findings of doctor, and the agents' queue. Prints its address, whose token is the only access.
///
/// An open page samples the queue every few seconds; a sample costs as much as one of watch.
/// Without an open page, the queue is sampled every 30 seconds, so that charts have a history.
#[derive(Debug, Args)]
pub(crate) struct Console {
    /// The port on 127.0.0.1; 0 means a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Allows the page to pause, resume, redrive, cancel and use the circuit breaker; without it the page is read-only
    #[arg(long)]
    pub(crate) allow_changes: bool,
    /// The stack of the agents' queue; AgentQueue-<ENV> by default if an environment is given
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agents_stack: Option<String>,
    /// The interval at which an open page updates itself
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    pub(crate) every: Duration,
}

impl Console {
    /// Serves the pages until Ctrl-C is pressed.
    ///
    /// # Errors
    /// [`Failure`]: no such queue, the port is in use, or the server failed.
    pub(crate) async fn serve(
        &self,
        queue: &QueueArguments,
        aws: &AwsArguments,
        format: Format,
    ) -> Result<Exit> {
        let agents = self.agents(queue, aws).await?;
        let queue = Queue::connect(queue, aws).await?;
        let account = queue.caller.account().await.clone();
        let address = (Ipv4Addr::LOCALHOST, self.port);
        let failed = |source| Failure::Server {
            port: self.port,
            source,
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let access = Arc::new(Access::new(self.allow_changes));
        let url = format!("http://127.0.0.1:{port}/{}/", access.token());
        announce(&url, format).map_err(Failure::Terminal)?;
        let site = Arc::new(Site::new(queue, account, agents, access, self.every));
        let router = router(site.clone());
        tokio::select! {
            () = site.read_on(PACE.max(self.every)) => {}
            served = axum::serve(listener, router).into_future() => served.map_err(failed)?,
            stopped = tokio::signal::ctrl_c() => stopped.map_err(Failure::Terminal)?,
        }
        Ok(Exit::Done)
    }

    /// Returns the agents' queue, or the reason to show on the Agents page instead.
    async fn agents(
        &self,
        queue: &QueueArguments,
        aws: &AwsArguments,
    ) -> Result<Result<AgentsQueue, String>> {
        let stack = match (&self.agents_stack, queue.stack()?) {
            (Some(stack), _) => stack.clone(),
            (None, Some(StackName::Env(env))) => stack_of(&env),
            (None, _) => {
                return Ok(Err(
                    "the agents' queue is unknown: name its stack with --agents-stack".to_owned(),
                ));
            }
        };
        match connect(stack, &aws::sdk_config(aws).await?).await {
            Ok(agents) => Ok(Ok(agents)),
            // An environment can have either queue without the other.
            Err(failure @ Failure::NoStack { .. }) if self.agents_stack.is_none() => {
                Ok(Err(failure.line()))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// Creates the router of all pages for a queue of `freshq dev`, with changes. Returns the path of the
/// first page, the router, and a future without end that samples the queue for the charts.
pub(crate) async fn of_dev(queue: Queue) -> (String, Router, impl Future<Output = ()>) {
    let account = queue.caller.account().await.clone();
    let access = Arc::new(Access::new(true));
    let path = format!("/{}/", access.token());
    let agents = Err("freshq dev has no agents' queue".to_owned());
    let every = Duration::from_secs(1);
    let site = Arc::new(Site::new(queue, account, agents, access, every));
    let router = router(site.clone());
    (path, router, async move { site.read_on(DEV_PACE).await })
}

fn announce(url: &str, format: Format) -> io::Result<()> {
    let mut out = io::stdout();
    match format {
        Format::Table => writeln!(
            out,
            "{url}\nThis address grants access: do not share it. Ctrl-C stops the console."
        ),
        Format::Json => writeln!(out, "{}", json!({ "url": url })),
    }?;
    out.flush()
}

/// Builds the router of all pages. Each request requires the token.
fn router(site: Arc<Site>) -> Router {
    let at = |page: &str| format!("/{}/{page}", site.access.token());
    Router::new()
        .route(&at(""), get(overview::overview))
        .route(&at("tasks"), get(tasks::tasks))
        .route(&at("task"), get(tasks::task))
        .route(&at("groups"), get(groups::groups))
        .route(&at("errors"), get(errors::errors))
        .route(&at("doctor"), get(doctor::doctor))
        .route(&at("agents"), get(agents::agents))
        .route(
            &at("{change}"),
            get(changes::confirmation).post(changes::carry_out),
        )
        .route(
            &at("console.css"),
            get((
                [(CONTENT_TYPE, "text/css")],
                include_str!("console/console.css"),
            )),
        )
        .route(
            &at("console.js"),
            get((
                [(CONTENT_TYPE, "text/javascript")],
                include_str!("console/console.js"),
            )),
        )
        .layer(axum::middleware::from_fn_with_state(
            site.access.clone(),
            access::guard,
        ))
        .with_state(site)
}

#[cfg(test)]
mod tests;
