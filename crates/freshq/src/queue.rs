//! Finds the queue that the command line names, and creates its clients.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use dev_queue::server::CREATE_TASKS;
use embedded_dynamodb::TABLE;
use lifo_queue::notify::sns::SnsNotifier;
use lifo_queue::notify::{Notification, Notifier, NotifyError};
use lifo_queue::operate::Operator;
use lifo_queue::store::QueueStore;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::time::{Clock, SystemClock};
use lifo_queue::wake::Waker;

use crate::account::Caller;
use crate::aws::{self, AwsArguments};
use crate::deployed::{AwsStack, Deployed};
use crate::failure::{Failure, Result};
use crate::function::{Function, LambdaFunction};
use crate::stack::{self, Place};

/// Lifetime of the start marker that this command sets (rule 9 of the wake-up protocol): the
/// default of the stack's `notificationMarker` setting. A different value in the stack works too,
/// because the marker only saves notifications.
const NOTIFICATION_MARKER: Duration = Duration::from_secs(10);

/// The default port of `freshq dev`.
pub(crate) const DEV_PORT: u16 = 8347;

/// The default address of `freshq dev`.
const DEV_URL: &str = "http://127.0.0.1:8347";

/// Which queue: by its environment, its stack, its table and topic, or the address of `freshq dev`.
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
    /// The queue of freshq dev at this address; by default FRESHQ_DEV
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["env", "stack", "table", "process_tasks_topic"],
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEV_URL,
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Which queue"
    )]
    pub(crate) dev: Option<String>,
}

impl QueueArguments {
    /// Returns the stack that the arguments or the environment variables name; `None` for a table
    /// and for `freshq dev`.
    pub(crate) fn stack(&self) -> Result<Option<StackName>> {
        match (&self.table, self.dev()) {
            (None, None) => StackName::of(self.env.as_ref(), self.stack.as_ref()).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the address of `freshq dev`, if it is the queue. The environment variable FRESHQ_DEV
    /// takes precedence over FRESHQ_STACK and FRESHQ_ENV, but not over an option.
    fn dev(&self) -> Option<String> {
        let option = [&self.env, &self.stack, &self.table]
            .into_iter()
            .any(Option::is_some);
        let variable = || variable("FRESHQ_DEV").filter(|_| !option);
        self.dev.clone().or_else(variable)
    }

    /// Reads the stack that the arguments name and creates its clients. `of` returns the name of an
    /// environment's stack.
    pub(crate) async fn deployed(
        &self,
        aws: &AwsArguments,
        of: fn(&str) -> String,
    ) -> Result<(String, AwsStack)> {
        let name = self.stack()?.ok_or(Failure::NoTemplate)?.in_full(of);
        let aws = aws::sdk_config(aws).await?;
        Ok((name.clone(), AwsStack::new(name, &aws)))
    }

    /// Finds the table, the topic and the function of the queue.
    async fn place(&self, aws: &SdkConfig) -> Result<Place> {
        match (self.stack()?, &self.table, &self.process_tasks_topic) {
            (Some(stack), ..) => stack::find(stack.in_full(stack::name_of), aws).await,
            (None, Some(table), Some(topic)) => Ok(Place {
                name: table.clone(),
                table: table.clone(),
                process_tasks_topic: topic.clone(),
                trigger_topic: None,
                stack: None,
                create_tasks: None,
            }),
            _ => Err(Failure::NoQueue),
        }
    }
}

/// A stack, named directly or by its environment.
pub(crate) enum StackName {
    Env(String),
    Full(String),
}

impl StackName {
    /// Returns the stack that `--env` or `--stack` names. Without these options, returns the stack
    /// that FRESHQ_STACK or FRESHQ_ENV names; FRESHQ_STACK takes precedence.
    pub(crate) fn of(env: Option<&String>, stack: Option<&String>) -> Result<Self> {
        let option = stack.cloned().map(Self::Full);
        let option = option.or_else(|| env.cloned().map(Self::Env));
        let option = option.or_else(|| variable("FRESHQ_STACK").map(Self::Full));
        let option = option.or_else(|| variable("FRESHQ_ENV").map(Self::Env));
        option.ok_or(Failure::NoQueue)
    }

    /// Returns the name of the stack. `of` returns the name of an environment's stack.
    pub(crate) fn in_full(self, of: fn(&str) -> String) -> String {
        match self {
            Self::Env(env) => of(&env),
            Self::Full(name) => name,
        }
    }
}

/// Returns the value of an environment variable, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The queue that a verb operates.
pub(crate) struct Queue {
    /// The display name, which is the name of the stack or of the table.
    pub(crate) name: String,
    pub(crate) caller: Caller,
    pub(crate) operator: Operator,
    pub(crate) store: Arc<dyn QueueStore>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) table: String,
    /// The `create-tasks` function; `None` if no stack output names it.
    pub(crate) creates: Option<Arc<dyn Function>>,
    /// Whether it is the queue of `freshq dev`, which has no stack.
    pub(crate) is_dev: bool,
    /// The stack; `None` if the command line names a table, and for `freshq dev`.
    pub(crate) deployed: Option<Arc<dyn Deployed>>,
}

impl Queue {
    /// Returns the name with the account and the region, for confirmation prompts.
    pub(crate) async fn place(&self) -> String {
        format!("{} ({})", self.name, self.caller.account().await)
    }

    /// Returns the queue that the command line names, with its clients.
    pub(crate) async fn connect(arguments: &QueueArguments, aws: &AwsArguments) -> Result<Self> {
        if let Some(url) = arguments.dev() {
            return Self::dev(&url);
        }
        let (cli, aws) = (aws.of_cli(), aws::sdk_config(aws).await?);
        let place = arguments.place(&aws).await?;
        let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), place.table.clone());
        let sns = aws_sdk_sns::Client::new(&aws);
        let notifier = SnsNotifier::new(sns, place.process_tasks_topic, place.trigger_topic);
        let clock = Arc::new(SystemClock);
        let (store, notifier) = (Arc::new(store), Arc::new(notifier));
        let queue = Self::new(place.name, Caller::new(&aws), store, notifier, clock);
        let function = |name| -> Arc<dyn Function> { Arc::new(LambdaFunction::new(&aws, name)) };
        let deployed =
            |stack| -> Arc<dyn Deployed> { Arc::new(AwsStack::new(stack, &aws).with_cli(cli)) };
        Ok(Self {
            table: place.table,
            creates: place.create_tasks.map(function),
            deployed: place.stack.map(deployed),
            ..queue
        })
    }

    /// Returns the queue of `freshq dev` at this address.
    pub(crate) fn dev(url: &str) -> Result<Self> {
        if !url.starts_with("http://") {
            let fault =
                format!("{url:?} is not the address that freshq dev printed, like {DEV_URL}");
            return Err(Failure::input("--dev or FRESHQ_DEV", fault));
        }
        let aws = aws::dev_config(url);
        let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&aws), TABLE);
        let (store, notifier) = (Arc::new(store), Arc::new(NotNeeded));
        let name = "freshq dev".to_owned();
        let clock = Arc::new(SystemClock);
        let queue = Self::new(name, Caller::dev(), store, notifier, clock);
        let function = LambdaFunction::new(&aws, CREATE_TASKS.to_owned());
        Ok(Self {
            table: TABLE.to_owned(),
            creates: Some(Arc::new(function)),
            is_dev: true,
            ..queue
        })
    }

    /// Creates a queue on any store, without a stack.
    pub(crate) fn new(
        name: String,
        caller: Caller,
        store: Arc<dyn QueueStore>,
        notifier: Arc<dyn Notifier>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let waker = Waker::new(
            store.clone(),
            notifier.clone(),
            clock.clone(),
            NOTIFICATION_MARKER,
        );
        Self {
            table: name.clone(),
            name,
            caller,
            creates: None,
            is_dev: false,
            deployed: None,
            operator: Operator::new(store.clone(), waker, clock.clone()),
            store,
            notifier,
            clock,
        }
    }
}

/// A notifier that does nothing: `freshq dev` reads each wake-up request in the control item.
struct NotNeeded;

#[async_trait]
impl Notifier for NotNeeded {
    async fn wake_processor(&self, _: &Notification) -> Result<(), NotifyError> {
        Ok(())
    }

    async fn tail_call(&self, _: &Notification) -> Result<(), NotifyError> {
        Ok(())
    }
}

#[cfg(test)]
impl Queue {
    /// Creates a queue on this store that uses tokio's clock.
    pub(crate) fn on(store: Arc<dyn QueueStore>, now: lifo_queue::time::Millis) -> Self {
        let clock = Arc::new(lifo_queue::time::TokioClock::starting_at(now));
        let topics = Arc::<simulator::topics::Topics>::default();
        let name = "LifoQueue-dev".to_owned();
        Self::new(name, Caller::example(), store, topics, clock)
    }
}
