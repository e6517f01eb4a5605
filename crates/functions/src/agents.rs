//! Code shared by the functions of an agents' queue: builds the queue and its publisher.

use std::sync::Arc;

use agent_queue::aws::AwsPublisher;
use agent_queue::queue::AgentQueue;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::time::SystemClock;

use crate::aws;
use crate::config;
use crate::diagnostics::Failure;
use crate::telemetry::metrics::Metrics;

pub struct Agents {
    pub queue: Arc<AgentQueue>,
    pub publisher: Arc<AwsPublisher>,
    pub sqs: aws_sdk_sqs::Client,
    pub metrics: Metrics,
}

/// Creates the queue, its clients and its metrics.
///
/// # Errors
/// If metrics are already installed.
pub async fn start(config: config::AgentQueue) -> Result<Agents, Failure> {
    let config::AgentQueue {
        table,
        assignment_topic,
        dead_letters,
        settings,
        seed: _,
    } = config;
    let metrics = Metrics::install(&table)?;
    let aws = aws::sdk_config().await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
    let store = DynamoStore::new(dynamodb, table, settings.dimensions.clone());
    let queue = AgentQueue::new(Arc::new(store), Arc::new(SystemClock), settings);
    let (sns, sqs) = (
        aws_sdk_sns::Client::new(&aws),
        aws_sdk_sqs::Client::new(&aws),
    );
    Ok(Agents {
        queue: Arc::new(queue),
        publisher: Arc::new(AwsPublisher::new(
            sns,
            sqs.clone(),
            assignment_topic,
            dead_letters,
        )),
        sqs,
        metrics,
    })
}
