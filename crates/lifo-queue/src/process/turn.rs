//! The loop of a turn: rules 4, 5 and 7.

mod alone;
mod empty;
mod pause;
mod probe;
mod record;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use self::alone::Gap;
use super::Processor;
use super::attempt::{Attempted, Attempts};
use super::breaker::{Breaker, SharedBreaker, Start};
use super::ending::Stopped;
use super::heartbeat::{Beat, Heartbeat, LeaseState};
use super::rate::Rate;
use super::read::{Read, Reads};
use super::select::{DEEP_PAGE_PAUSE, Selector, Step, Wanted};
use super::slots::Slots;
use super::summary::TurnSummary;
use crate::causes;
use crate::control::{Control, Pause};
use crate::store::{Candidate, StoreError};
use crate::task::TaskId;
use crate::time::Millis;

/// How often the index is read again while there is nothing to take.
const POLL: Duration = Duration::from_millis(250);

/// Reads of the index that may fail in a row before the turn does.
const MAX_FAILED_READS: u32 = 3;

/// How long a task is left alone after its step failed: longer each time would be kinder, but
/// a turn is short.
const AFTER_STORE_ERROR: Duration = Duration::from_secs(10);

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

/// Whether one more task may start.
enum Gate {
    Open,
    /// As a probe of the downstream.
    Probe,
    /// Only a task that must run alone may start.
    Alone,
    /// Not before this moment, or before a run ends.
    Wait(Millis),
    /// The loop ends.
    End(TurnEnd),
    Pause(Pause),
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
    rate: Rate,
    breaker: SharedBreaker,
    attempts: Arc<Attempts>,
    cut_off: watch::Sender<bool>,
    running: JoinSet<Attempted>,
    summary: TurnSummary,
    /// Tasks that met a downstream which refuses us, since it last answered.
    refused: HashSet<TaskId>,
    /// Tasks that met a busy downstream, since it last had room.
    busy: HashSet<TaskId>,
    /// Automatic pauses in a row before this turn.
    busy_pauses: u32,
    /// What runs has no neighbours, and gets none.
    alone: bool,
    gap: Gap,
    /// When the index may be read beyond the head again.
    next_deep: Millis,
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
        control: Control,
        lease_until: Millis,
        deadline: Option<Millis>,
    ) -> Self {
        let settings = processor.settings;
        let now = processor.clock.now();
        let hard_stop = settings.hard_stop(now, deadline);
        let (cut_off, cut) = watch::channel(false);
        let breaker = Breaker::new(settings.breaker, settings.slots, control.breaker, now);
        let breaker = SharedBreaker::new(breaker);
        let beat = Beat {
            store: processor.store.clone(),
            clock: processor.clock.clone(),
            owner,
            lease: settings.processor_lease,
            interval: settings.heartbeat,
            breaker: breaker.clone(),
        };
        let slots = match control.busy_pauses {
            0 => Slots::new(settings.slots),
            _ => Slots::probing(settings.slots),
        };
        let clock = processor.clock.clone();
        Self {
            processor,
            owner,
            seen: control.requested,
            rate: Rate::start(settings.rate, control.rate_full_at, clock),
            busy_pauses: control.busy_pauses,
            heartbeat: Heartbeat::start(beat, lease_until, control),
            selector: Selector::new(settings.slots, settings.order),
            reads: Reads::new(
                processor.store.clone(),
                processor.clock.clone(),
                settings.order,
            ),
            slots,
            attempts: Arc::new(Attempts {
                store: processor.store.clone(),
                runner: processor.runner.clone(),
                clock: processor.clock.clone(),
                settings,
                breaker: breaker.clone(),
                cut_off: cut,
            }),
            breaker,
            cut_off,
            running: JoinSet::new(),
            summary: TurnSummary::default(),
            refused: HashSet::new(),
            busy: HashSet::new(),
            alone: false,
            gap: Gap::new(&settings, now, hard_stop),
            next_deep: now,
            empty_since: None,
            failed_reads: 0,
            gave_back: false,
            // Rule 4: take only what can finish before the deadline less the margin.
            stop_taking: now
                .plus(settings.turn)
                .min(hard_stop.minus(settings.task_timeout)),
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
            match self.gate(now) {
                Gate::Open => {}
                Gate::Probe => {
                    if let Some(end) = self.probe(now).await {
                        return end;
                    }
                    continue;
                }
                Gate::Alone => match self.fill_gap(now).await {
                    Some(end) => return end,
                    None => continue,
                },
                Gate::Wait(until) => {
                    self.wait(until).await;
                    continue;
                }
                Gate::End(end) => return end,
                Gate::Pause(pause) => return self.pause(&pause).await,
            }
            let ended = match self.next_step(now) {
                Step::Take(task) => {
                    self.start_attempt(task, now);
                    None
                }
                Step::Read(wanted) => self.read(wanted, now).await,
                Step::Exhausted(pass) => self.nothing_to_take(pass, now).await,
            };
            if let Some(end) = ended {
                return end;
            }
        }
    }

    fn gate(&mut self, now: Millis) -> Gate {
        match self.heartbeat.lease(now) {
            LeaseState::Ours => {}
            LeaseState::Paused => return Gate::End(TurnEnd::Paused),
            LeaseState::Others => return Gate::End(TurnEnd::LeaseLost),
            // Nobody may be awake: call on, as at the end of the time (rule 6).
            LeaseState::RanOut => return Gate::End(TurnEnd::TimeUp),
        }
        let kept = self.gap.is_kept(now);
        if now >= self.stop_taking && !kept {
            return Gate::End(TurnEnd::TimeUp);
        }
        if let Some(pause) = self.wants_pause(now) {
            return match self.running.is_empty() {
                true => Gate::Pause(pause),
                // Runs that started earlier may show that the tasks themselves are at fault.
                false => Gate::Wait(Millis::MAX),
            };
        }
        self.alone = self.alone && !self.running.is_empty();
        if self.alone || (kept && !self.running.is_empty()) {
            return Gate::Wait(Millis::MAX);
        }
        let start = self.breaker.lock().start(self.running.len(), now);
        if let Start::Wait(until) = start {
            return Gate::Wait(until);
        }
        // A probe is one task, however many slots are open.
        if start == Start::Any && !self.slots.is_open(self.running.len(), now) {
            let wake = self.slots.wait_until().filter(|at| *at > now);
            return Gate::Wait(wake.unwrap_or(Millis::MAX));
        }
        match (self.rate.grant(now), start) {
            (Err(again), _) => Gate::Wait(again),
            (Ok(()), Start::Probe) => Gate::Probe,
            (Ok(()), _) if kept => Gate::Alone,
            (Ok(()), _) => Gate::Open,
        }
    }

    /// The next step of the pass. While others run, a task that must run alone is passed over.
    fn next_step(&mut self, now: Millis) -> Step {
        let settings = self.processor.settings;
        let (runs, gap) = (!self.running.is_empty(), &mut self.gap);
        self.selector.next(now, |task| {
            let passed_over = runs && settings.must_run_alone(task);
            if passed_over {
                gap.want();
            }
            !passed_over
        })
    }

    /// Starts the task's attempt.
    fn start_attempt(&mut self, task: Candidate, now: Millis) {
        let alone = self.processor.settings.must_run_alone(&task);
        if alone {
            self.gap.started(now);
        }
        self.alone = alone;
        self.rate.used();
        self.summary.probes += u32::from(self.breaker.lock().starts(&task.id));
        // Until it ended nothing else in this turn may try it.
        self.selector.leave_alone(task.id.clone(), Millis::MAX);
        self.running
            .spawn(self.attempts.clone().attempt(task, alone));
        if let Some(wanted) = self.selector.read_ahead() {
            self.bound_reads(now);
            self.reads.start(wanted, now);
        }
    }

    /// Reads a page that is needed now; one beyond the head not too soon after the last.
    async fn read(&mut self, wanted: Wanted, now: Millis) -> Option<TurnEnd> {
        if wanted.after.is_some() {
            if now < self.next_deep {
                self.wait(self.next_deep).await;
                return None;
            }
            self.next_deep = now.plus(DEEP_PAGE_PAUSE);
        }
        self.bound_reads(now);
        let read = self.reads.next(wanted, now).await?;
        self.take_in(read).await
    }

    /// Where no task outlives its creation by more than a promised time, older ones need not be
    /// read, redriven ones excepted.
    fn bound_reads(&mut self, now: Millis) {
        let settings = &self.processor.settings;
        self.reads.created_from =
            self.heartbeat
                .created_from(settings.expiry_bound, settings.clock_skew, now);
    }

    /// Waits for the runs to end, until the hard stop, and returns the tasks that still run then.
    /// What the last runs met may still pause the queue.
    pub(super) async fn drain(&mut self, end: TurnEnd) -> TurnEnd {
        while !self.running.is_empty() {
            let left = self.hard_stop.since(self.now());
            tokio::select! {
                biased;
                Some(ended) = self.running.join_next() => self.record(ended),
                () = tokio::time::sleep(left), if !*self.cut_off.borrow() => {
                    self.cut_off.send_replace(true);
                }
            }
        }
        match (end, self.wants_pause(self.now())) {
            (TurnEnd::TimeUp, Some(pause)) => self.pause(&pause).await,
            (end, _) => end,
        }
    }

    /// Ends the heartbeat.
    pub(super) async fn stop(mut self) -> Stopped {
        self.heartbeat.stop().await;
        self.summary.queries = self.reads.queries;
        let breaker = self.breaker.lock().state();
        self.summary.breaker_open = breaker.is_some();
        Stopped {
            breaker,
            owner: self.owner,
            summary: self.summary,
            gave_back: self.gave_back,
            rate: self.rate,
        }
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

    /// Waits until a task ends, the lease is lost or the moment has come.
    async fn wait(&mut self, until: Millis) {
        let last_start = self.gap.end().max(Some(self.stop_taking));
        let pause = last_start
            .map_or(until, |last| last.min(until))
            .since(self.now());
        tokio::select! {
            biased;
            Some(ended) = self.running.join_next() => self.record(ended),
            () = self.heartbeat.lost() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }

    fn now(&self) -> Millis {
        self.processor.clock.now()
    }
}
