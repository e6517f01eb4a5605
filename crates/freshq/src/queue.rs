//! Which queue, and the operator's hand on it.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lifo_queue::notify::Notifier;
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::operate::Operator;
use lifo_queue::store::QueueStore;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::{Clock, SystemClock};
use lifo_queue::wake::Waker;

use crate::aws;
use crate::failure::Failure;
use crate::stack::{self, Place};

/// How long our notification holds others back (rule 9 of the wake-up protocol): the stack's
/// own default. Where a stack says otherwise nothing breaks, since the mark is an optimisation.
const NOTIFICATION_MARKER: Duration = Duration::from_secs(10);

/// Which queue: by its environment, or by its table and topic.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct QueueArguments {
    /// The queue of the stack LifoQueue-<ENV>, found by the stack's outputs
    #[arg(
        long,
        conflicts_with_all = ["table", "process_tasks_topic"],
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Which queue"
    )]
    pub(crate) env: Option<String>,
    /// The queue in this table; CloudFormation is not asked
    #[arg(
        long,
        value_name = "NAME",
        requires = "process_tasks_topic",
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Which queue"
    )]
    pub(crate) table: Option<String>,
    /// The topic that wakes the queue's process-tasks
    #[arg(
        long,
        value_name = "ARN",
        requires = "table",
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Which queue"
    )]
    pub(crate) process_tasks_topic: Option<String>,
}

/// A queue to be operated.
pub(crate) struct Queue {
    /// What an operator calls it: its stack, or its table.
    pub(crate) name: String,
    pub(crate) operator: Operator,
    pub(crate) store: Arc<dyn QueueStore>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Queue {
    /// The queue that the command line names.
    ///
    /// # Errors
    /// [`Failure`]: no region, or no such stack.
    pub(crate) async fn connect(arguments: &QueueArguments) -> Result<Self, Failure> {
        let aws = aws::sdk_config().await;
        if aws.region().is_none() {
            return Err(Failure::NoRegion);
        }
        let place = match (
            &arguments.env,
            &arguments.table,
            &arguments.process_tasks_topic,
        ) {
            (Some(env), ..) => stack::find(env, &aws).await?,
            (None, Some(table), Some(topic)) => Place {
                name: table.clone(),
                table: table.clone(),
                process_tasks_topic: topic.clone(),
            },
            _ => return Err(Failure::NoQueue),
        };
        let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), place.table);
        let sns = aws_sdk_sns::Client::new(&aws);
        let notifier = SnsNotifier::new(sns, place.process_tasks_topic, None);
        let clock = Arc::new(SystemClock);
        Ok(Self::new(
            place.name,
            Arc::new(store),
            Arc::new(notifier),
            clock,
        ))
    }

    /// A queue on any store.
    pub(crate) fn new(
        name: String,
        store: Arc<dyn QueueStore>,
        notifier: Arc<dyn Notifier>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let waker = Waker::new(store.clone(), notifier, clock.clone(), NOTIFICATION_MARKER);
        Self {
            name,
            operator: Operator::new(store.clone(), waker, clock.clone()),
            store,
            clock,
        }
    }
}
