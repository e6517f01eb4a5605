//! The loop of a turn: rules 4, 5 and 7.

mod record;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::Processor;
use super::attempt::{Attempted, Attempts};
use super::heartbeat::{Beat, Heartbeat, LeaseState};
use super::read::{Read, Reads};
use super::select::{Pass, Selector, Step};
use super::slots::Slots;
use super::summary::TurnSummary;
use crate::causes;
use crate::control::{IdleTurns, Release, Released};
use crate::store::{StoreError, Written};
use crate::task::TaskId;
use crate::time::Millis;

/// How often the index is read again while there is nothing to take.
const POLL: Duration = Duration::from_millis(250);

/// Reads of the index that may fail in a row before the turn does.
const MAX_FAILED_READS: u32 = 3;

/// How long a task is left alone after its step failed: longer each time would be kinder, but
/// a turn is short.
const AFTER_STORE_ERROR: Duration = Duration::from_secs(10);

/// Distinct tasks in a row that the downstream must refuse before the queue pauses.
const REFUSALS_TO_PAUSE: usize = 3;

/// Why the loop ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// Nothing is left, and the lease was released on the condition of rule 5.
    Empty,
    /// Time is up, or the lease ran out; work may remain.
    TimeUp,
    /// The processor lease is another's.
    LeaseLost,
    /// The queue was paused.
    Paused,
    /// The index cannot be read, or the lease not be released.
    Failed(StoreError),
}

pub(super) struct Turn<'a> {
    processor: &'a Processor,
    owner: Uuid,
    /// `requested` as it was at acquire, or at the last refused release: at no other time.
    seen: u64,
    heartbeat: Heartbeat,
    selector: Selector,
    reads: Reads,
    slots: Slots,
    attempts: Arc<Attempts>,
    cut_off: watch::Sender<bool>,
    running: JoinSet<Attempted>,
    summary: TurnSummary,
    refused: HashSet<TaskId>,
    /// Since when the queue has looked empty.
    empty_since: Option<Millis>,
    failed_reads: u32,
    gave_back: bool,
    stop_taking: Millis,
    hard_stop: Millis,
}

impl<'a> Turn<'a> {
    pub(super) fn start(
        processor: &'a Processor,
        owner: Uuid,
        seen: u64,
        lease_until: Millis,
        deadline: Option<Millis>,
    ) -> Self {
        let settings = processor.settings;
        let now = processor.clock.now();
        let turn_end = now.plus(settings.turn);
        let hard_stop = deadline.map_or(turn_end.plus(settings.task_timeout), |at| {
            at.minus(settings.deadline_margin)
        });
        let (cut_off, cut) = watch::channel(false);
        let beat = Beat {
            store: processor.store.clone(),
            clock: processor.clock.clone(),
            owner,
            lease: settings.processor_lease,
            interval: settings.heartbeat,
        };
        Self {
            processor,
            owner,
            seen,
            heartbeat: Heartbeat::start(beat, lease_until),
            selector: Selector::new(settings.slots),
            reads: Reads::new(processor.store.clone(), processor.clock.clone()),
            slots: Slots::new(settings.slots),
            attempts: Arc::new(Attempts {
                store: processor.store.clone(),
                runner: processor.runner.clone(),
                clock: processor.clock.clone(),
                settings,
                cut_off: cut,
            }),
            cut_off,
            running: JoinSet::new(),
            summary: TurnSummary::default(),
            refused: HashSet::new(),
            empty_since: None,
            failed_reads: 0,
            gave_back: false,
            // Rule 4: take only what can finish before the deadline less the margin.
            stop_taking: turn_end.min(hard_stop.minus(settings.task_timeout)),
            hard_stop,
        }
    }

    /// Takes and runs tasks until there is a reason to stop. Tasks may still run then.
    pub(super) async fn work(&mut self) -> TurnEnd {
        loop {
            while let Some(ended) = self.running.try_join_next() {
                self.record(ended);
            }
            if let Some(read) = self.reads.arrived().await
                && let Some(end) = self.take_in(read).await
            {
                return end;
            }
            let now = self.now();
            match self.heartbeat.lease(now) {
                LeaseState::Ours => {}
                LeaseState::Others => return TurnEnd::LeaseLost,
                // Nobody may be awake: call on, as at the end of the time (rule 6).
                LeaseState::RanOut => return TurnEnd::TimeUp,
            }
            if now >= self.stop_taking {
                return TurnEnd::TimeUp;
            }
            if self.refused.len() >= REFUSALS_TO_PAUSE {
                return self.pause(now).await;
            }
            if !self.slots.is_open(self.running.len(), now) {
                let wake = self.slots.wait_until().filter(|at| *at > now);
                self.wait(wake.unwrap_or(self.stop_taking)).await;
                continue;
            }
            let ended = match self.selector.next(now) {
                Step::Take(candidate) => {
                    // Until it ended nobody else in this turn may try it.
                    self.selector.skip(candidate.id.clone(), Millis::MAX);
                    self.running.spawn(self.attempts.clone().attempt(candidate));
                    if let Some(wanted) = self.selector.read_ahead() {
                        self.reads.start(wanted, now);
                    }
                    None
                }
                Step::Read(wanted) => match self.reads.next(wanted, now).await {
                    Some(read) => self.take_in(read).await,
                    None => None,
                },
                Step::Exhausted(pass) => self.nothing_to_take(pass, now).await,
            };
            if let Some(end) = ended {
                return end;
            }
        }
    }

    /// Lets what runs end, until the hard stop; what still runs then is given back.
    pub(super) async fn drain(&mut self) {
        while !self.running.is_empty() {
            let left = self.hard_stop.since(self.now());
            tokio::select! {
                Some(ended) = self.running.join_next() => self.record(ended),
                () = tokio::time::sleep(left), if !*self.cut_off.borrow() => {
                    self.cut_off.send_replace(true);
                }
            }
        }
    }

    /// Ends the heartbeat; the summary, and whether a task was given back.
    pub(super) async fn stop(mut self) -> (TurnSummary, bool) {
        self.heartbeat.stop().await;
        self.summary.queries = self.reads.queries;
        (self.summary, self.gave_back)
    }

    /// Takes in a page of the index, or the failure to read it.
    async fn take_in(&mut self, read: Read) -> Option<TurnEnd> {
        match read.page {
            Ok(page) => {
                self.failed_reads = 0;
                self.selector
                    .accept(read.wanted, page, read.asked, read.arrived);
                None
            }
            Err(error) => {
                self.summary.store_errors += 1;
                self.failed_reads += 1;
                if self.failed_reads >= MAX_FAILED_READS || !error.is_transient() {
                    return Some(TurnEnd::Failed(error));
                }
                let error = causes::chain(&error);
                tracing::warn!(error, "index not read, will try again");
                self.wait(self.now().plus(POLL)).await;
                None
            }
        }
    }

    /// Rule 5: the queue looks empty. While tasks run, or one is due within the turn, look again
    /// soon; otherwise linger at least as long as the index lags, look again, and release on
    /// the condition that no wake-up was requested meanwhile.
    async fn nothing_to_take(&mut self, pass: Pass, now: Millis) -> Option<TurnEnd> {
        self.summary.empty_polls += u32::from(!pass.took);
        if pass.took || !self.running.is_empty() {
            self.empty_since = None;
            self.wait(now.plus(POLL)).await;
            return None;
        }
        if let Some(due) = pass.next_due.filter(|due| *due < self.stop_taking) {
            self.empty_since = None;
            self.wait(due.min(now.plus(POLL))).await;
            return None;
        }
        let since = *self.empty_since.get_or_insert(now);
        let lingered = since.plus(self.processor.settings.index_lag);
        if pass.started.is_none_or(|started| started < lingered) {
            self.wait(lingered.min(now.plus(POLL))).await;
            return None;
        }
        self.release().await
    }

    async fn release(&mut self) -> Option<TurnEnd> {
        let release = Release {
            owner: self.owner,
            if_requested_is: Some(self.seen),
            idle_turns: IdleTurns::Reset,
        };
        match self.processor.store.release(&release).await {
            Ok(Released::Done { .. }) => Some(TurnEnd::Empty),
            Ok(Released::Requested { requested }) => {
                self.seen = requested;
                self.empty_since = None;
                None
            }
            Ok(Released::NotOurs) => Some(TurnEnd::LeaseLost),
            Err(error) => Some(TurnEnd::Failed(error)),
        }
    }

    async fn pause(&mut self, now: Millis) -> TurnEnd {
        let until = now.plus(self.processor.settings.pause);
        let reason = format!(
            "the downstream refused {} tasks in a row",
            self.refused.len()
        );
        tracing::error!(until_ms = until.0, reason, "queue paused");
        match self.processor.store.pause(until, &reason).await {
            Ok(Written::Done | Written::Lost) => TurnEnd::Paused,
            Err(error) => TurnEnd::Failed(error),
        }
    }

    /// Waits until a task ends, the lease is lost or the moment has come.
    async fn wait(&mut self, until: Millis) {
        let pause = until.min(self.stop_taking).since(self.now());
        tokio::select! {
            Some(ended) = self.running.join_next() => self.record(ended),
            () = self.heartbeat.lost() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }

    fn now(&self) -> Millis {
        self.processor.clock.now()
    }
}
