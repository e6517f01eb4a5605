//! The queue that the command line names, with its clients.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use lifo_queue::notify::Notifier;
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::operate::Operator;
use lifo_queue::store::QueueStore;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::{Clock, SystemClock};
use lifo_queue::wake::Waker;

use crate::account::Caller;
use crate::aws::{self, AwsArguments};
use crate::deployed::{AwsStack, Deployed};
use crate::failure::Failure;
use crate::function::{Function, LambdaFunction};
use crate::stack::{self, Place};

/// Lifetime of the start marker that this command sets (rule 9 of the wake-up protocol). It is the
/// default of the stack's setting `notificationMarker`. A stack with another value works too,
/// because the marker only saves notifications.
const NOTIFICATION_MARKER: Duration = Duration::from_secs(10);

/// Which queue: by its environment, its stack, or its table and topic.
#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// The queue of the stack LifoQueue-<ENV>, found by the stack's outputs; by default FRESHQ_ENV
    #[arg(
        long,
        conflicts_with_all = ["stack", "table", "process_tasks_topic"],
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Which queue"
    )]
    pub(crate) env: Option<String>,
    /// The queue of this stack, found by the stack's outputs; by default FRESHQ_STACK
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["table", "process_tasks_topic"],
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Which queue"
    )]
    pub(crate) stack: Option<String>,
    /// The queue in this table, without CloudFormation
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

impl QueueArguments {
    /// The stack that the arguments or the environment variables name; `None` for a table.
    pub(crate) fn stack(&self) -> Result<Option<StackName>, Failure> {
        match self.table {
            Some(_) => Ok(None),
            None => StackName::of(self.env.as_ref(), self.stack.as_ref()).map(Some),
        }
    }

    /// The name and the clients of the stack that the arguments name. `of` returns the name of an
    /// environment's stack.
    ///
    /// # Errors
    /// [`Failure`]: no region, or the arguments name no stack.
    pub(crate) async fn deployed(
        &self,
        aws: &AwsArguments,
        of: fn(&str) -> String,
    ) -> Result<(String, AwsStack), Failure> {
        let name = self.stack()?.ok_or(Failure::NoTemplate)?.in_full(of);
        let aws = aws::sdk_config(aws).await?;
        Ok((name.clone(), AwsStack::new(name, &aws)))
    }

    /// The table, the topic and the function of the queue.
    async fn place(&self, aws: &SdkConfig) -> Result<Place, Failure> {
        match (self.stack()?, &self.table, &self.process_tasks_topic) {
            (Some(stack), ..) => stack::find(stack.in_full(stack::name_of), aws).await,
            (None, Some(table), Some(topic)) => Ok(Place {
                name: table.clone(),
                table: table.clone(),
                process_tasks_topic: topic.clone(),
                stack: None,
                create_tasks: None,
            }),
            _ => Err(Failure::NoQueue),
        }
    }
}

/// A stack, named by itself or by its environment.
pub(crate) enum StackName {
    Env(String),
    Full(String),
}

impl StackName {
    /// The stack of the options `--env` and `--stack`. Without them, that of the environment
    /// variables FRESHQ_STACK and FRESHQ_ENV; the first of these takes precedence.
    ///
    /// # Errors
    /// [`Failure::NoQueue`]: neither names a stack.
    pub(crate) fn of(env: Option<&String>, stack: Option<&String>) -> Result<Self, Failure> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let option = stack.cloned().map(Self::Full);
        let option = option.or_else(|| env.cloned().map(Self::Env));
        let option = option.or_else(|| variable("FRESHQ_STACK").map(Self::Full));
        let option = option.or_else(|| variable("FRESHQ_ENV").map(Self::Env));
        option.ok_or(Failure::NoQueue)
    }

    /// The name of the stack. `of` returns the name of an environment's stack.
    pub(crate) fn in_full(self, of: fn(&str) -> String) -> String {
        match self {
            Self::Env(env) => of(&env),
            Self::Full(name) => name,
        }
    }
}

/// The queue that a verb operates.
pub(crate) struct Queue {
    /// The name for operators: that of the stack, or of the table.
    pub(crate) name: String,
    pub(crate) caller: Caller,
    pub(crate) operator: Operator,
    pub(crate) store: Arc<dyn QueueStore>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The name of the table.
    pub(crate) table: String,
    /// The function `create-tasks`; `None` if no output of a stack names it.
    pub(crate) creates: Option<Arc<dyn Function>>,
    /// The stack; `None` if the command line names a table.
    pub(crate) deployed: Option<Arc<dyn Deployed>>,
}

impl Queue {
    /// The name with the account and the region, for questions.
    pub(crate) async fn place(&self) -> String {
        format!("{} ({})", self.name, self.caller.account().await)
    }

    /// The queue that the command line names.
    ///
    /// # Errors
    /// [`Failure`]: no region, no such stack, or the stack lacks an output.
    pub(crate) async fn connect(
        arguments: &QueueArguments,
        aws: &AwsArguments,
    ) -> Result<Self, Failure> {
        let aws = aws::sdk_config(aws).await?;
        let place = arguments.place(&aws).await?;
        let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), place.table.clone());
        let sns = aws_sdk_sns::Client::new(&aws);
        let notifier = SnsNotifier::new(sns, place.process_tasks_topic, None);
        let clock = Arc::new(SystemClock);
        let (store, notifier) = (Arc::new(store), Arc::new(notifier));
        let queue = Self::new(place.name, Caller::new(&aws), store, notifier, clock);
        let function = |name| -> Arc<dyn Function> { Arc::new(LambdaFunction::new(&aws, name)) };
        let deployed = |stack| -> Arc<dyn Deployed> { Arc::new(AwsStack::new(stack, &aws)) };
        Ok(Self {
            table: place.table,
            creates: place.create_tasks.map(function),
            deployed: place.stack.map(deployed),
            ..queue
        })
    }

    /// A queue on any store, without a stack.
    pub(crate) fn new(
        name: String,
        caller: Caller,
        store: Arc<dyn QueueStore>,
        notifier: Arc<dyn Notifier>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let waker = Waker::new(store.clone(), notifier, clock.clone(), NOTIFICATION_MARKER);
        Self {
            table: name.clone(),
            name,
            caller,
            creates: None,
            deployed: None,
            operator: Operator::new(store.clone(), waker, clock.clone()),
            store,
            clock,
        }
    }
}
