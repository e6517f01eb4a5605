//! The slots of a turn. An attempt holds a slot until its run ends, so the downstream does not wait
//! for the settlement.
//!
//! While all slots are held, an attempt may take its task *ahead*, shortly before a run is expected
//! to end. It then waits for that slot. If none becomes free within [`LONGEST_WAIT`], the task
//! returns without having started.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::select::MAX_PAGE_AGE;

/// Maximum number of tasks that a processor has taken for each slot: one runs, one was taken ahead,
/// and one waits for its settlement.
pub const TAKEN_PER_SLOT: usize = 3;

/// Maximum time for which a task that was taken ahead waits for a slot (S5).
const LONGEST_WAIT: Duration = MAX_PAGE_AGE;

/// The tasks that are taken ahead are at most one quarter of the slots that become free within
/// [`LONGEST_WAIT`] on average, so that few of them return without a start.
const SHARE: usize = 4;

/// The last duration is one tenth of the moving average.
const WEIGHT: u32 = 10;

/// Number of requests before a run starts: the read of a page and the take.
const REQUESTS: u32 = 2;

/// Resolution of the timers, by which each of these requests can start late.
const RESOLUTION: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(super) struct State {
    /// Number of attempts whose run has not ended.
    held: usize,
    /// Starts of the active runs, earliest first.
    runs: Vec<Instant>,
    /// Moving averages of the durations of takes and runs.
    take: Option<Duration>,
    run: Option<Duration>,
    /// Whether no task is taken ahead before the next end of a run, because one returned unstarted.
    failed: bool,
    /// The tasks that wait for a slot, in the order of their takes. Only the first may start.
    waiting: VecDeque<Arc<Notify>>,
    /// Whether no further task may start.
    closed: bool,
}

/// What to do while all slots are held.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Take a task.
    Take,
    /// Read a page, so that it is fresh when a slot becomes free.
    Read,
    /// Check again after this time.
    In(Duration),
    /// Nothing before a run ends.
    Nothing,
}

impl State {
    /// Ends the wait of a task, and lets the next one check whether it may start.
    fn leave(&mut self, place: Option<&Arc<Notify>>) {
        self.waiting
            .retain(|other| place.is_none_or(|place| !Arc::ptr_eq(place, other)));
        if let Some(first) = self.waiting.front() {
            first.notify_one();
        }
    }
}

#[derive(Default)]
pub(super) struct Slots {
    /// The turn is notified when a slot becomes free, and when the slots are closed.
    state: watch::Sender<State>,
}

impl Slots {
    /// Number of attempts whose run has not ended.
    pub(super) fn held(&self) -> usize {
        self.state.borrow().held
    }

    /// A receiver for the turn that is notified when a slot becomes free.
    pub(super) fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Lets tasks start, or returns those that wait for a slot.
    pub(super) fn set_closed(&self, closed: bool) {
        self.state.send_modify(|state| {
            state.closed = closed;
            state.waiting.iter().for_each(|place| place.notify_one());
        });
    }

    /// Holds a slot, or the next one to become free if the task is taken `ahead`.
    pub(super) fn hold(self: &Arc<Self>, ahead: bool) -> Slot {
        self.quietly(|state| state.held += 1);
        Slot {
            slots: self.clone(),
            held: Instant::now(),
            started: None,
            place: ahead.then(Arc::default),
        }
    }

    /// What to do while at least `limit` slots are held, so that the next free slot does not wait.
    pub(super) fn ahead(&self, limit: usize) -> Ahead {
        let state = self.state.borrow();
        let (Some(take), Some(run)) = (state.take, state.run) else {
            return Ahead::Nothing;
        };
        let waiting = state.held.saturating_sub(limit);
        let lead = REQUESTS * (take + RESOLUTION);
        if limit > 1 && !state.failed && waiting < most_ahead(limit, run) {
            let next = state.runs.get(waiting);
            return next.map_or(Ahead::Nothing, |started| {
                before_end(*started, run, lead, Ahead::Take)
            });
        }
        // A page is fresh for some time around the expected end of a run.
        let around = MAX_PAGE_AGE / 2;
        let mut runs = state.runs.iter();
        let next = runs.find(|started| started.elapsed() <= run + around);
        next.map_or(Ahead::Nothing, |started| {
            before_end(*started, run, around + lead, Ahead::Read)
        })
    }

    /// Changes the state without a notification.
    fn quietly(&self, change: impl FnOnce(&mut State)) {
        self.state.send_if_modified(|state| {
            change(state);
            false
        });
    }
}

/// A slot that an attempt holds. Dropping it frees the slot.
pub(super) struct Slot {
    slots: Arc<Slots>,
    held: Instant,
    started: Option<Instant>,
    /// The place of a task that was taken ahead, until it has waited for a slot.
    place: Option<Arc<Notify>>,
}

impl Slot {
    /// Starts the run, after waiting for a free slot if the task was taken ahead. Returns `false` if
    /// the run must not start. `may_start` decides that for the number of active runs.
    pub(super) async fn start(&mut self, may_start: impl Fn(usize) -> bool) -> bool {
        let take = self.held.elapsed();
        let place = self.place.clone();
        self.slots.quietly(|state| {
            average(&mut state.take, take);
            state.waiting.extend(place.clone());
        });
        let started = match &place {
            None => self.try_start(&may_start),
            Some(place) => {
                let free = async {
                    while !self.try_start(&may_start) && !self.slots.state.borrow().closed {
                        place.notified().await;
                    }
                    self.started.is_some()
                };
                tokio::time::timeout(LONGEST_WAIT, free).await == Ok(true)
            }
        };
        self.place = None;
        self.slots.quietly(|state| {
            state.failed |= !started;
            state.leave(place.as_ref());
        });
        started
    }

    fn try_start(&mut self, may_start: impl Fn(usize) -> bool) -> bool {
        let now = Instant::now();
        let place = self.place.as_ref();
        let mut starts = false;
        self.slots.quietly(|state| {
            let is_first = state
                .waiting
                .front()
                .zip(place)
                .is_some_and(|(a, b)| Arc::ptr_eq(a, b));
            starts = place.is_none() || is_first && !state.closed && may_start(state.runs.len());
            if starts {
                state.runs.push(now);
            }
        });
        self.started = starts.then_some(now);
        starts
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let place = self.place.take();
        self.slots.state.send_modify(|state| {
            state.held -= 1;
            state.leave(place.as_ref());
            let Some(started) = self.started else {
                return;
            };
            average(&mut state.run, started.elapsed());
            state.failed = false;
            if let Some(place) = state.runs.iter().position(|run| *run == started) {
                state.runs.remove(place);
            }
        });
    }
}

/// Returns `then` if the run that began at `started` is expected to end within `lead`.
fn before_end(started: Instant, run: Duration, lead: Duration, then: Ahead) -> Ahead {
    match run.saturating_sub(started.elapsed() + lead) {
        left if left < RESOLUTION => then,
        left => Ahead::In(left),
    }
}

/// Maximum number of tasks that are taken ahead: a share of the slots that become free while one of
/// them may wait.
fn most_ahead(limit: usize, run: Duration) -> usize {
    let share = LONGEST_WAIT.as_micros() as usize * limit / SHARE;
    let most = share / (run.as_micros() as usize).max(1);
    most.min(limit)
}

fn average(average: &mut Option<Duration>, last: Duration) {
    let before = average.unwrap_or(last);
    *average = Some((before * (WEIGHT - 1) + last) / WEIGHT);
}

#[cfg(test)]
mod tests;
