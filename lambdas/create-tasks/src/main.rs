//! `create-tasks`: creates the tasks an event describes, and reports on each by its index.

mod event;

use std::sync::Arc;

use function::config::{self, CreateTasks};
use function::telemetry::metrics::Metrics;
use function::{Context, Failure, Handler, aws};
use lifo_queue::create::{CreateReport, Creator};
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::SystemClock;
use serde_json::Value;

use crate::event::Request;

fn main() -> Result<(), function::Error> {
    function::serve(1, start())
}

struct Creates {
    creator: Creator,
    metrics: Metrics,
    simulation: bool,
}

/// A simulation is invoked by a schedule, which reads no report: it must fail to be seen.
#[derive(Debug, thiserror::Error)]
#[error(
    "{failed} of {count} simulated tasks were not created; the first, at index {index}: {error}"
)]
struct SimulationFailed {
    failed: usize,
    count: usize,
    index: usize,
    error: String,
}

async fn start() -> Result<Creates, Failure> {
    let CreateTasks {
        table,
        create,
        simulation,
    } = CreateTasks::read(&config::environment)?;
    let metrics = Metrics::install(&table)?;
    let aws = aws::sdk_config().await;
    let store = Arc::new(DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), table));
    let creator = Creator::new(store, Arc::new(SystemClock), create);
    Ok(Creates {
        creator,
        metrics,
        simulation,
    })
}

impl Handler for Creates {
    type Response = CreateReport;

    async fn handle(&self, event: Value, _context: Context) -> Result<CreateReport, Failure> {
        match event::read(event, self.simulation)? {
            Request::Create(tasks) => Ok(self.reported(self.creator.create(&tasks).await)),
            Request::Simulate(count) => {
                let report = self.reported(self.creator.simulate(count).await);
                let failed = report.failed.len();
                match report.failed.first() {
                    None => Ok(report),
                    Some(first) => {
                        let (index, error) = (first.index, first.error.clone());
                        Err(SimulationFailed {
                            failed,
                            count,
                            index,
                            error,
                        }
                        .into())
                    }
                }
            }
        }
    }
}

impl Creates {
    fn reported(&self, report: CreateReport) -> CreateReport {
        tracing::info!(
            created = report.created.len(),
            duplicates = report.duplicates.len(),
            failed = report.failed.len(),
            "create"
        );
        self.metrics.emit(&report);
        report
    }
}
