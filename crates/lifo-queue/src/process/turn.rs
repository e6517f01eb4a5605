//! The loop of a turn, which implements rules 4, 5 and 7 of the wake-up protocol.

mod alone;
mod empty;
mod end;
mod gate;
mod groups;
mod index;
mod probe;
mod record;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use uuid::Uuid;

use self::alone::AloneWindow;
use self::gate::Gate;
use self::probe::Search;
use self::runs::Runs;
use super::Processor;
use super::attempt::Attempts;
use super::codel::Codel;
use super::finish::TurnEnd;
use super::health::{Downstream, GroupLimits, Health, Limits, SharedDownstream};
use super::heartbeat::{Beat, Heartbeat};
use super::observe::{FreeTime, Observations};
use super::rate::Rate;
use super::read::Reads;
use super::select::{Selector, Step};
use super::summary::TurnSummary;
use crate::control::Control;
use crate::store::Candidate;
use crate::time::Millis;

/// Maximum wait between two index reads while no task can be taken.
const POLL: Duration = Duration::from_millis(250);

/// Age from which a run is old, and time that a turn waits for its last runs. A turn does not end
/// while a run is old: no task starts between two turns, so an old run would delay all others.
const OLD_RUN: Duration = Duration::from_millis(500);

/// Time after a store error during which the turn does not take the task again. It is constant
/// because a turn is too short for a growing backoff.
const AFTER_STORE_ERROR: Duration = Duration::from_secs(10);

pub(super) struct Turn<'a> {
    processor: &'a Processor,
    owner: Uuid,
    /// *Seen* in rules 2 and 5: the value of `requested` at the acquire or the last rejected
    /// release. No other event changes it.
    seen: u64,
    heartbeat: Heartbeat,
    selector: Selector,
    reads: Reads,
    rate: Rate,
    /// The limits in effect.
    limits: Limits,
    downstream: SharedDownstream,
    codel: Codel,
    runs: Runs,
    /// Whether a pass found no task to take ahead since a slot was last free.
    nothing_ahead: bool,
    summary: TurnSummary,
    observations: Observations,
    free_time: FreeTime,
    alone: AloneWindow,
    /// The search for a probe; `None` if no search is in progress.
    search: Option<Search>,
    /// Time since which the passes have found the queue empty.
    empty_since: Option<Millis>,
    returned: bool,
    /// Time from which the turn ends as soon as no run is old.
    stop_taking: Millis,
    /// Time after which no task starts, because its run might not end in time.
    last_start: Millis,
    hard_stop: Millis,
}

impl<'a> Turn<'a> {
    pub(super) fn start(
        processor: &'a Processor,
        owner: Uuid,
        control: Control,
        groups: Option<GroupLimits>,
        lease_until: Millis,
        deadline: Option<Millis>,
    ) -> Self {
        let settings = processor.settings;
        let now = processor.clock.now();
        let hard_stop = settings.hard_stop(now, deadline);
        let (cut_off, cut) = watch::channel(false);
        // Rule 4: take a task only if its run can end before the deadline minus the margin.
        let last_start = hard_stop.minus(settings.task_timeout);
        let stop_taking = now.plus(settings.turn).min(last_start);
        let limits = settings.limits().under(control.limit(now));
        let left = (control.breaker, &control.health);
        let mut health = Health::new(&settings, limits, left, now);
        health.know(&control, now);
        let downstream = SharedDownstream::new(Downstream::new(health, groups, now));
        let codel = Codel::new(settings.codel, control.overloaded_since, now);
        let left = control.observed.clone();
        let observations = Observations::new(left, &settings);
        let beat = Beat {
            store: processor.store.clone(),
            clock: processor.clock.clone(),
            owner,
            lease: settings.processor_lease,
            interval: settings.heartbeat,
            downstream: downstream.clone(),
            overloaded_since: codel.watch(),
            observed: observations.watch(),
            limits: settings.limits(),
            last_start: hard_stop
                .minus(settings.task_timeout)
                .max(now.plus(settings.turn)),
            reads_groups: settings.groups.is_some(),
        };
        let attempts = Attempts {
            store: processor.store.clone(),
            runner: processor.runner.clone(),
            clock: processor.clock.clone(),
            settings,
            downstream: downstream.clone(),
            cut_off: cut,
        };
        let clock = processor.clock.clone();
        Self {
            processor,
            owner,
            seen: control.requested,
            rate: Rate::start(limits.rate, control.rate_full_at, clock),
            limits,
            heartbeat: Heartbeat::start(beat, lease_until, control),
            selector: Selector::new(settings.slots, settings.order, settings.groups.is_some()),
            reads: Reads::new(
                processor.store.clone(),
                processor.clock.clone(),
                settings.order,
            ),
            runs: Runs::new(Arc::new(attempts), cut_off),
            downstream,
            codel,
            nothing_ahead: false,
            summary: TurnSummary::default(),
            observations,
            free_time: FreeTime::new(now),
            alone: AloneWindow::new(&settings, now, hard_stop),
            search: None,
            empty_since: None,
            returned: false,
            stop_taking,
            last_start,
            hard_stop,
        }
    }

    /// Takes and runs tasks until the turn must end, and returns the reason. Tasks may still be
    /// running.
    pub(super) async fn work(&mut self) -> TurnEnd {
        self.runs.set_closed(false);
        loop {
            while let Some(ended) = self.runs.ended() {
                self.record(ended);
            }
            if let Some(read) = self.reads.arrived().await
                && let Some(end) = self.take_in(read).await
            {
                return end;
            }
            self.count_taken().await;
            let now = self.now();
            let ahead = match self.gate(now) {
                Gate::Open => false,
                Gate::Ahead => {
                    self.codel.no_slot();
                    true
                }
                Gate::Probe => {
                    if let Some(end) = self.probe(now).await {
                        return end;
                    }
                    continue;
                }
                Gate::Alone => match self.start_alone(now).await {
                    Some(end) => return end,
                    None => continue,
                },
                Gate::Wait(until) => {
                    self.codel.no_slot();
                    self.measure(false, now);
                    let until = self.keep_up(until, now);
                    self.wait(until).await;
                    continue;
                }
                Gate::End(end) => return end,
            };
            let ended = match self.next_step(now) {
                Step::Take(task) => {
                    self.found(task.created, now);
                    self.measure(false, now);
                    self.start_attempt(task, ahead, now);
                    None
                }
                Step::Read(wanted) => self.read(wanted, now).await,
                Step::Exhausted(_) if ahead => {
                    self.nothing_ahead = true;
                    None
                }
                Step::Exhausted(pass) => {
                    self.measure(true, now);
                    self.nothing_to_take(pass, now).await
                }
            };
            if let Some(end) = ended {
                return end;
            }
        }
    }

    /// Returns the next step. Tasks that must run alone are passed over while other tasks run.
    fn next_step(&mut self, now: Millis) -> Step {
        if self.search.take().is_some() {
            // The breaker closed, so start a new pass: the search passed over due tasks.
            self.selector.restart();
        }
        let settings = self.processor.settings;
        let (runs, window) = (!self.runs.is_empty(), &mut self.alone);
        let downstream = self.downstream.lock();
        self.selector.next(now, &downstream.gates(now), |task| {
            let passed_over = runs && settings.must_run_alone(task);
            if passed_over {
                window.need();
            }
            !passed_over
        })
    }

    /// Starts an attempt, which waits for a slot if the task is taken `ahead`.
    fn start_attempt(&mut self, task: Candidate, ahead: bool, now: Millis) {
        let alone = self.processor.settings.must_run_alone(&task);
        if alone {
            self.alone.started(now);
        }
        self.rate.used();
        let is_probe = self.downstream.lock().attempt_started(&task.id, now);
        self.summary.probes += u32::from(is_probe);
        self.selector.started(&task.id, now);
        self.runs.start(task, alone, ahead, now);
        if let Some(wanted) = self.selector.read_ahead(now) {
            self.start_read(wanted, now);
        }
    }

    /// Waits until `until` or an earlier event, such as the end of a task or an update of the
    /// control item. Never waits past the latest time at which the turn can start a task.
    async fn wait(&mut self, until: Millis) {
        let now = self.now();
        let regular = match now < self.stop_taking {
            true => self.stop_taking,
            false => self.last_start,
        };
        let last_start = self.alone.end().max(Some(regular));
        let wake = [last_start, self.heartbeat.limited_until(now)];
        let until = wake.into_iter().flatten().fold(until, Ord::min);
        let pause = until.since(now);
        tokio::select! {
            biased;
            ended = self.runs.changed() => if let Some(ended) = ended { self.record(ended) },
            () = self.heartbeat.changed() => {}
            () = self.reads.ready(), if self.processor.settings.groups.is_some() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }

    fn now(&self) -> Millis {
        self.processor.clock.now()
    }
}
