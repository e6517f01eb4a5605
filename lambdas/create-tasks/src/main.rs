//! `create-tasks`: creates the tasks that an event describes and reports the outcome of each by its
//! index. The event comes from an operator or a schedule, or is an HTTP request through a Function
//! URL or an HTTP API.

mod http;
mod response;

use std::sync::Arc;

use functions::config::{self, CreateTasks, CreateTasksSettings};
use functions::telemetry::metrics::Metrics;
use functions::telemetry::traces;
use functions::{Context, Failure, Handler, aws};
use lifo_queue::create::request::{self, Request};
use lifo_queue::create::{CreateReport, Creator};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::SystemClock;
use lifo_queue::trace::Tracer;
use serde_json::value::RawValue;

use crate::http::{HttpRequest, HttpResponse};
use crate::response::Response;

fn main() -> Result<(), functions::Error> {
    functions::serve(1, start())
}

struct Creates {
    creator: Creator,
    metrics: Metrics,
    simulation: bool,
    tracer: Option<Arc<Tracer>>,
}

async fn start() -> Result<Creates, Failure> {
    let CreateTasks { table, settings } = CreateTasks::read(&config::environment)?;
    let CreateTasksSettings {
        create,
        simulation,
        traces,
    } = settings;
    let metrics = Metrics::install(&table)?;
    let aws = aws::sdk_config().await;
    let store = Arc::new(DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), table));
    let creator = Creator::new(store, Arc::new(SystemClock), create);
    Ok(Creates {
        creator,
        metrics,
        simulation,
        tracer: traces::tracer(traces),
    })
}

impl Handler for Creates {
    type Event = Box<RawValue>;
    type Response = Response;

    async fn handle(&self, event: Box<RawValue>, _context: Context) -> Result<Response, Failure> {
        if let Some(request) = HttpRequest::of(&event) {
            let response = match request.read(self.simulation) {
                Ok(request) => HttpResponse::of(&self.carry_out(request).await),
                Err(rejected) => HttpResponse::from(rejected),
            };
            return Ok(Response::Http(response));
        }
        let request = request::read(&event, self.simulation)?;
        let simulated = matches!(request, Request::Simulate(_));
        Response::to_invoker(self.carry_out(request).await, simulated)
    }

    fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.as_ref()
    }
}

impl Creates {
    async fn carry_out(&self, request: Request) -> CreateReport {
        let report = self.creator.carry_out(request).await;
        tracing::info!(
            created = report.created.len(),
            duplicates = report.duplicates.len(),
            superseded = report.superseded(),
            superseded_keys = report.superseded_keys(),
            failed = report.failed.len(),
            "create"
        );
        self.metrics.emit(&report);
        report
    }
}
