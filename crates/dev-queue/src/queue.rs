//! The queue: the processor, the sweep, the expiry, and the reactions to table changes.
//!
//! On AWS, the table's stream invokes `trigger`, and a topic invokes `process-tasks`. Here, each
//! table change has both effects: a new task requests a wake-up, as in `trigger`, and each wake-up
//! request in the control item starts a turn after the current one. A `freshq` command in another
//! process therefore needs no notification.

mod leases;

use std::error::Error;
use std::future::IntoFuture;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws::error_chain::chain;
use axum::Router;
use embedded_dynamodb::{TABLE, client};
use lifo_queue::create::Creator;
use lifo_queue::notify::{Notification, Notifier, NotifyError, WakeReason};
use lifo_queue::process::{Invocation, Processor};
use lifo_queue::runner::TaskRunner;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{QueueStore, StoreError};
use lifo_queue::sweep::Sweeper;
use lifo_queue::time::{Clock, SystemClock};
use lifo_queue::wake::Waker;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use crate::change::Change;
use crate::journal::{Journal, Tally};
use crate::server;
use crate::settings::Settings;
use crate::table::{OpenError, Table};

/// Interval between sweeps, shorter than the minute on AWS because sweeps cost nothing here.
pub const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Interval between deletions of expired items.
const EXPIRE_EVERY: Duration = Duration::from_secs(1);

/// Maximum number of changes to handle concurrently.
const BATCH: usize = 256;

pub struct DevQueue {
    table: Arc<Table>,
    changes: UnboundedReceiver<Change>,
    store: Arc<dyn QueueStore>,
    bell: Arc<Bell>,
    waker: Waker,
    processor: Processor,
    sweeper: Sweeper,
    creator: Arc<Creator>,
    tally: watch::Sender<Tally>,
    has_groups: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the HTTP endpoint failed")]
    Endpoint(#[source] io::Error),
    #[error("could not write the output")]
    Output(#[source] io::Error),
    #[error("could not return the running tasks to PENDING")]
    Return(#[source] StoreError),
}

/// A notifier that starts a turn of the processor in this process.
#[derive(Default)]
struct Bell(Notify);

#[async_trait]
impl Notifier for Bell {
    async fn wake_processor(&self, _: &Notification) -> Result<(), NotifyError> {
        self.0.notify_one();
        Ok(())
    }

    async fn tail_call(&self, _: &Notification) -> Result<(), NotifyError> {
        self.0.notify_one();
        Ok(())
    }
}

impl DevQueue {
    /// Opens the queue in `folder`, or a new one in memory. The endpoint will listen on `address`.
    pub fn open(
        folder: Option<&Path>,
        address: SocketAddr,
        settings: &Settings,
        runner: Arc<dyn TaskRunner>,
    ) -> Result<Self, OpenError> {
        let (sender, changes) = unbounded_channel();
        let table = Arc::new(Table::open(folder, sender)?);
        let store: Arc<dyn QueueStore> = Arc::new(DynamoStore::new(client(address), TABLE));
        let (bell, clock) = (Arc::new(Bell::default()), Arc::new(SystemClock));
        let marker = settings.process.notification_marker;
        let waker = Waker::new(store.clone(), bell.clone(), clock.clone(), marker);
        let process = settings.process;
        Ok(Self {
            table,
            changes,
            processor: Processor::new(store.clone(), bell.clone(), runner, clock.clone(), process),
            sweeper: Sweeper::new(store.clone(), waker.clone(), clock.clone(), settings.sweep),
            creator: Arc::new(Creator::new(store.clone(), clock, settings.create)),
            store,
            bell,
            waker,
            tally: watch::Sender::default(),
            has_groups: process.groups.is_some(),
        })
    }

    pub fn endpoint(&self) -> Router {
        server::router(self.table.clone(), self.creator.clone())
    }

    /// Returns a creator of tasks. Its tasks are created only once the queue is being served.
    pub fn creator(&self) -> Arc<Creator> {
        self.creator.clone()
    }

    pub fn tally(&self) -> watch::Receiver<Tally> {
        self.tally.subscribe()
    }

    /// Serves the queue until `stop` completes. Tasks left running by an earlier process, and tasks
    /// running at the end, return to PENDING. Neither return costs an attempt.
    pub async fn serve<W: Write>(
        mut self,
        listener: TcpListener,
        router: Router,
        journal: &mut Journal<W>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let journal = Mutex::new(journal);
        let (sender, tally) = (unbounded_channel().1, self.tally.clone());
        let mut changes = std::mem::replace(&mut self.changes, sender);
        let service = async {
            tokio::select! {
                served = axum::serve(listener, router).into_future() => {
                    served.map_err(ServeError::Endpoint)
                }
                reacted = self.react(&mut changes, &journal) => reacted,
            }
        };
        let run = async {
            self.return_running("freshq dev had ended during the run")
                .await?;
            self.bell.0.notify_one();
            tokio::select! {
                failed = self.process(&journal) => failed?,
                failed = self.sweep(&journal) => failed?,
                () = self.expire() => {}
                () = stop => {}
            }
            self.return_running("freshq dev ended during the run").await
        };
        let ended = tokio::select! {
            served = service => served,
            run = run => run,
        };
        while let Ok(change) = changes.try_recv() {
            print(&mut lock(&journal), &change, &tally)?;
        }
        ended
    }

    async fn react<W: Write>(
        &self,
        changes: &mut UnboundedReceiver<Change>,
        journal: &Mutex<&mut Journal<W>>,
    ) -> Result<(), ServeError> {
        let mut batch = Vec::new();
        while changes.recv_many(&mut batch, BATCH).await > 0 {
            let has_new_task = batch.iter().any(Change::is_new_task);
            for change in batch.drain(..) {
                if change.requests_wake_up() {
                    self.bell.0.notify_one();
                }
                print(&mut lock(journal), &change, &self.tally)?;
            }
            if has_new_task {
                let event = Uuid::new_v4().to_string();
                if let Err(error) = self.waker.request(&event, WakeReason::Insert).await {
                    note(journal, "no processor was woken", &error)?;
                }
            }
        }
        Ok(())
    }

    /// Runs one turn per notification.
    async fn process<W: Write>(&self, journal: &Mutex<&mut Journal<W>>) -> Result<(), ServeError> {
        loop {
            self.bell.0.notified().await;
            let invocation = Invocation {
                message_id: Uuid::new_v4().to_string(),
                deadline: None,
            };
            if let Err(failed) = self.processor.turn(invocation).await {
                note(journal, "the turn failed", &failed.error)?;
            }
        }
    }

    async fn sweep<W: Write>(&self, journal: &Mutex<&mut Journal<W>>) -> Result<(), ServeError> {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            if let Err(failed) = self.sweeper.sweep(&Uuid::new_v4().to_string()).await {
                note(journal, "the sweep failed", &failed)?;
            }
        }
    }

    async fn expire(&self) {
        loop {
            self.table.expire(SystemClock.now().floor_seconds());
            tokio::time::sleep(EXPIRE_EVERY).await;
        }
    }
}

fn print<W: Write>(
    journal: &mut Journal<W>,
    change: &Change,
    tally: &watch::Sender<Tally>,
) -> Result<(), ServeError> {
    let now = SystemClock.now();
    let printed = match (change.transition(), change.pause()) {
        (Some(transition), _) => journal.record(now, &change.id, &transition).map(|sum| {
            tally.send_replace(sum);
        }),
        (None, Some(pause)) => journal.note(now, &pause),
        (None, None) => Ok(()),
    };
    printed.map_err(ServeError::Output)
}

fn note<W: Write>(
    journal: &Mutex<&mut Journal<W>>,
    what: &str,
    error: &dyn Error,
) -> Result<(), ServeError> {
    let text = format!("{what}: {}", chain(error));
    let noted = lock(journal).note(SystemClock.now(), &text);
    noted.map_err(ServeError::Output)
}

fn lock<'a, 'b, W>(journal: &'a Mutex<&'b mut Journal<W>>) -> MutexGuard<'a, &'b mut Journal<W>> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}
