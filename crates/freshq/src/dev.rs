//! `freshq dev`: a task queue on this machine, for development.

use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_types::SdkConfig;
use axum::middleware::from_fn;
use clap::{ArgGroup, Args};
use dev_queue::DevQueue;
use dev_queue::journal::Journal;
use dev_queue::output::Output;
use dev_queue::queue::ServeError;
use dev_queue::settings::{Overrides, Settings, Source};
use dev_queue::simulation::{self, Downstream};
use lifo_queue::runner::TaskRunner;
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::runner::http::TaskUrl;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::console;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::queue::{DEV_PORT, Queue};
use crate::time_format::parse_duration;

/// Help text about the supported and unsupported features.
const AFTER_HELP: &str = "\
Runs the queue's own code on an embedded DynamoDB, without AWS, until Ctrl-C. For development, not for production.

It listens on 127.0.0.1 only: POST /tasks as create-tasks does, DynamoDB for direct writers and for the other commands
(--dev), and the console. It prints one line per transition of a task.

Not included: the agents' queue, SQS ingest, the table's stream, events of ended tasks, the queue of shed tasks, IAM, alarms,
metrics and traces.";

/// Runs a task queue on this machine, without AWS.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, group = ArgGroup::new("downstream").required(true).multiple(true).args(["runner", "template", "simulate"]))]
pub(crate) struct Dev {
    /// The HTTP endpoint that runs the tasks, for example http://localhost:3000/validate
    #[arg(long, value_name = "URL")]
    runner: Option<String>,
    /// Takes the settings and the runner from a synthesized template, cdk.out/<stack>.template.json
    #[arg(long, value_name = "PATH")]
    template: Option<PathBuf>,
    /// Shows a burst of tasks on a simulated downstream, then ends
    #[arg(
        long,
        value_name = "DOWNSTREAM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "slow",
        conflicts_with_all = ["runner", "template", "data"]
    )]
    simulate: Option<Downstream>,
    /// Stores the tasks in this folder; without it, tasks are kept in memory
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 means a free one
    #[arg(long, default_value_t = DEV_PORT)]
    port: u16,
    /// Maximum number of concurrent tasks (processing.concurrency)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=900))]
    concurrency: Option<u16>,
    /// Maximum number of starts per second (processing.ratePerSecond)
    #[arg(long, value_name = "COUNT")]
    rate: Option<NonZeroU32>,
    /// Maximum duration of one run (processing.taskTimeout)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Attempts before a task is FAILURE (tasks.maxAttempts)
    #[arg(long, value_name = "COUNT")]
    max_attempts: Option<NonZeroU32>,
    /// Time until a task without its own expiry expires (tasks.defaultTtl)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
}

impl Dev {
    /// Runs the queue until Ctrl-C or SIGTERM, or until the simulated burst has ended.
    ///
    /// # Errors
    /// [`Failure`]: an argument is invalid, the port or the folder is in use, or the queue failed.
    pub(crate) async fn run(&self) -> Result<Exit> {
        let (settings, config) = self.configuration()?;
        let runner = build(config.clone(), settings.process.task_timeout)?;
        // Install handlers before printing: a reader of the first line can already send a signal.
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::Terminal)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Failure::Terminal)?;
        let failed = |source| Failure::Server {
            port: self.port,
            source,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await;
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let queue = DevQueue::open(self.data.as_deref(), address, &settings, runner);
        let queue = queue.map_err(|error| Failure::Dev(error.into()))?;
        let url = format!("http://{address}");
        let (path, pages, samples) = console::of_dev(Queue::dev(&url)?).await;
        let router = queue
            .endpoint()
            .layer(from_fn(console::local_only))
            .merge(pages);
        // A reader of the output that stops reading must not stop the queue.
        let mut out = Output::start(io::stdout()).map_err(Failure::Terminal)?;
        self.announce(&mut out, &url, &path, &settings, &config)
            .map_err(Failure::Terminal)?;
        let (creator, tally) = (queue.creator(), queue.tally());
        let mut burst = Ok(());
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = samples => {}
                ended = simulation::burst(&creator, tally), if self.simulate.is_some() => burst = ended,
            }
        };
        let mut journal = Journal::new(out);
        let served = queue.serve(listener, router, &mut journal, stop).await;
        served.map_err(|error| match error {
            ServeError::Output(source) => Failure::Terminal(source),
            error => Failure::Dev(error.into()),
        })?;
        journal.summarise().map_err(Failure::Terminal)?;
        burst.map_err(|error| Failure::Dev(error.into()))?;
        Ok(Exit::Done)
    }

    fn configuration(&self) -> Result<(Settings, RunnerConfig)> {
        let mut source = match &self.template {
            None => Source::defaults(),
            Some(path) => {
                let place = path.display().to_string();
                let text = fs::read_to_string(path).map_err(|source| Failure::File {
                    path: place.clone(),
                    source,
                })?;
                Source::template(&text).map_err(|error| input(&place, &error))?
            }
        };
        let of_template = source.runner.take();
        let runner = match (&self.runner, of_template, self.simulate) {
            (Some(url), ..) => RunnerConfig::Http {
                url: url.clone(),
                auth: None,
                timeout_ms: None,
            },
            (None, Some(runner), _) => runner.map_err(|error| input("--template", &error))?,
            (None, None, simulated) => simulated.unwrap_or(Downstream::Slow).runner(),
        };
        let settings = source.settings(&self.overrides());
        let settings = settings.map_err(|error| input("--template", &error))?;
        Ok((settings, runner))
    }

    fn overrides(&self) -> Overrides {
        let simulated = self.simulate.map(Downstream::overrides);
        let simulated = simulated.unwrap_or_default();
        Overrides {
            concurrency: self.concurrency.or(simulated.concurrency),
            rate: self.rate,
            timeout: self.timeout,
            max_attempts: self.max_attempts,
            ttl: self.ttl,
            backoff: simulated.backoff,
        }
    }

    fn announce(
        &self,
        out: &mut Output,
        url: &str,
        path: &str,
        settings: &Settings,
        runner: &RunnerConfig,
    ) -> io::Result<()> {
        let option = match url.ends_with(&format!(":{DEV_PORT}")) {
            true => "--dev".to_owned(),
            false => format!("--dev={url}"),
        };
        let data = match &self.data {
            Some(folder) => format!("{}; delete the folder to start empty", folder.display()),
            None => "in memory, until it ends; --data <FOLDER> keeps it".to_owned(),
        };
        let slots = settings.process.slots;
        writeln!(
            out,
            "freshq dev: a task queue on this machine, for development. Ctrl-C ends it.\n\
             \x20 create tasks  curl -d '{{\"payload\": {{\"n\": 1}}}}' {url}/tasks\n\
             \x20 commands      freshq status {option}\n\
             \x20 console       {url}{path}\n\
             \x20 DynamoDB      {url}, table {table}, any region and credentials\n\
             \x20 runner        {runner}; at most {slots} concurrent tasks\n\
             \x20 data          {data}\n",
            table = embedded_dynamodb::TABLE,
            runner = shown(runner),
        )?;
        out.flush()
    }
}

/// Returns the runner as text, without a URL's query string, which may contain a secret.
fn shown(runner: &RunnerConfig) -> String {
    match runner {
        RunnerConfig::Http { url, .. } => {
            let url = url.parse::<TaskUrl>();
            url.map(|url| format!("{url:?}")).unwrap_or_default()
        }
        _ => "simulated".to_owned(),
    }
}

fn build(config: RunnerConfig, timeout: Duration) -> Result<Arc<dyn TaskRunner>> {
    let aws = SdkConfig::builder().build();
    let runner = config.build(&aws, timeout);
    runner.map_err(|error| input("--runner or --template", &error))
}

fn input(place: &str, error: &dyn std::error::Error) -> Failure {
    Failure::input(place, aws::error_chain::chain(error))
}
