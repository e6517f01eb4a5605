//! Concurrently assigns the new calls in one batch that have the same criteria.
//!
//! The call queue delivers the calls of one criteria to one process at a time, in order. One read
//! of the queue's first agents and of the oldest pending call therefore serves all of these calls.
//! With enough agents, each call claims a different agent, all concurrently. If a call is pending
//! or agents are few, the calls are matched one by one, so that none overtakes another.
//!
//! Lanes of other criteria and other processes claim the same agents. If two transactions on one
//! agent conflict, the call that loses claims another agent. During contention, each call chooses
//! at random among the first few agents ([`Windows`](crate::window::Windows)) instead of always
//! taking the first.

mod batch;
mod view;

use std::pin::pin;
use std::time::Duration;

use futures::future::join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use tokio::time::timeout;

pub use self::batch::Batch;
use self::view::{Pick, View};
use crate::call::{Call, CallRecord};
use crate::criteria::Criteria;
use crate::matching::first_agent::{MatchOutcome, PARALLEL_READS, TryOutcome};
use crate::matching::one_call::{Matched, assigned};
use crate::queue::{AgentQueue, Result};
use crate::transaction::Before;

/// Number of agents to read in addition to one per call. With fewer, calls run one by one.
pub(crate) const SPARE: usize = 10;

/// Maximum pause after a call has lost its second agent.
const PAUSE: Duration = Duration::from_millis(1);

/// Upper limit of the pause, which doubles with each further loss.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// After losing more agents than this, a call leaves the lane and continues in strict order with
/// longer pauses.
const MAX_LOSSES: u32 = 60;

/// Time for which a call that claims an agent counts toward the limit of the [gate](crate::gate):
/// ten times the duration of a transaction. A call that takes longer, for example because DynamoDB
/// throttles it, no longer keeps others from claiming agents.
const COUNTED: Duration = Duration::from_millis(100);

struct Lane<'a> {
    queue: &'a AgentQueue,
    criteria: &'a Criteria,
    batch: &'a Batch,
    calls: usize,
    view: tokio::sync::Mutex<View>,
}

enum Claimed {
    Ended(Box<MatchOutcome>),
    Few,
    /// Another transaction took the agent from read `looks`. Only a conflict counts as a loss.
    Lost {
        looks: u32,
        counts: bool,
    },
}

impl AgentQueue {
    /// Assigns new calls with the same criteria in order, or sets them to pending. The results have
    /// the same order. An error or the deadline can end the operation early. Calls without a result
    /// were not started.
    pub async fn match_lane(&self, calls: &[Call], batch: &Batch) -> Vec<Result<Matched>> {
        let Some(first) = calls.first() else {
            return vec![];
        };
        let in_turn = calls.iter().any(|call| self.is_too_old(call));
        if in_turn || self.settings.contention_window <= 1 {
            let one = |call| self.match_in_turn(call);
            return self.one_by_one(calls, batch, one).await;
        }
        let criteria = &first.criteria;
        let page = page(calls.len());
        let look = tokio::try_join!(
            self.first_entries(criteria, page),
            async { Ok(self.store.calls_in_line(criteria, 1).await?) },
            self.known_of(calls, batch)
        );
        let (entries, pending, known) = match look {
            Ok(look) => look,
            Err(error) => return vec![Err(error)],
        };
        if !pending.is_empty() {
            return self.one_by_one(calls, batch, |call| self.wait(call)).await;
        }
        let plenty = entries.len() >= usize::from(page);
        let lane = Lane {
            queue: self,
            criteria,
            batch,
            calls: calls.len(),
            view: tokio::sync::Mutex::new(View::new(entries)),
        };
        let mut at_once = vec![];
        if plenty {
            let claim = |(call, known): (_, Option<CallRecord>)| {
                let lane = &lane;
                async move {
                    match known {
                        Some(record) => Ok(Some(MatchOutcome::Known(record))),
                        None => lane.claim(call, SPARE).await,
                    }
                }
            };
            at_once = join_all(calls.iter().zip(known).map(claim)).await;
        }
        let mut at_once = at_once.into_iter();
        let mut results = vec![];
        for call in calls {
            let met = match at_once.next() {
                Some(Ok(None)) | None => lane.claim(call, 1).await,
                Some(met) => met,
            };
            let result = match met {
                // The claim has already sent the assignment to be published.
                Ok(Some(MatchOutcome::Assigned(assignment))) => Ok(assigned(assignment)),
                Ok(Some(MatchOutcome::Known(record))) => batch.passed_on(self.known(record).await),
                Ok(_) => batch.passed_on(self.wait(call).await),
                Err(error) => Err(error),
            };
            let failed = result.is_err();
            results.push(result);
            if failed && at_once.len() == 0 {
                break;
            }
        }
        results
    }

    /// Returns the lane's known calls, which only a redelivered batch can contain. A known call
    /// would claim an agent only to find its own state, and later calls would skip that agent.
    async fn known_of(&self, calls: &[Call], batch: &Batch) -> Result<Vec<Option<CallRecord>>> {
        if !batch.redelivered || calls.len() < 2 {
            return Ok(vec![None; calls.len()]);
        }
        let reads: Vec<_> = calls
            .iter()
            .map(|call| self.readable_call(&call.id))
            .collect();
        let reads = stream::iter(reads).buffered(PARALLEL_READS);
        reads.try_collect().await
    }

    /// Matches calls one after the other, up to the first error or the deadline.
    async fn one_by_one<'a, F: Future<Output = Result<Matched>>>(
        &self,
        calls: &'a [Call],
        batch: &Batch,
        one: impl Fn(&'a Call) -> F,
    ) -> Vec<Result<Matched>> {
        let mut results = vec![];
        for call in calls {
            results.push(batch.passed_on(one(call).await));
            if results.last().is_some_and(Result::is_err) || self.is_over() {
                break;
            }
        }
        results
    }

    /// Assigns one call in strict order.
    async fn match_in_turn(&self, call: &Call) -> Result<Matched> {
        if self.is_too_old(call) {
            return self.expire_call(call).await;
        }
        if !self
            .store
            .calls_in_line(&call.criteria, 1)
            .await?
            .is_empty()
        {
            return self.wait(call).await;
        }
        match self.meet(call, Before::New).await? {
            MatchOutcome::Assigned(assignment) => Ok(assigned(assignment)),
            MatchOutcome::Known(record) => self.known(record).await,
            MatchOutcome::NoAgent | MatchOutcome::NoRecord => self.wait(call).await,
        }
    }
}

/// Returns the number of queue entries to read for this number of calls.
fn page(calls: usize) -> u16 {
    u16::try_from(calls + SPARE).unwrap_or(u16::MAX)
}

impl Lane<'_> {
    /// Claims agents until the call is assigned or its state is known. Returns `None` if fewer than
    /// `few` agents are left, more than [`MAX_LOSSES`] were lost, or the deadline has passed.
    async fn claim(&self, call: &Call, few: usize) -> Result<Option<MatchOutcome>> {
        let (mut losses, mut stale) = (0, None);
        loop {
            let mut place = Some(self.queue.gate.enter().await);
            if losses > MAX_LOSSES || self.queue.is_over() {
                return Ok(None);
            }
            let mut attempt = pin!(self.attempt(call, few, losses, stale));
            let claimed = match timeout(COUNTED, attempt.as_mut()).await {
                Ok(claimed) => claimed?,
                Err(_) => {
                    place = None;
                    attempt.await?
                }
            };
            match claimed {
                Claimed::Few => return Ok(None),
                Claimed::Ended(met) => {
                    if let Some(place) = place {
                        place.settled();
                    }
                    return Ok(Some(*met));
                }
                Claimed::Lost { looks, counts } => {
                    if let Some(place) = place {
                        place.lost();
                    }
                    losses += u32::from(counts);
                    stale = Some(looks);
                }
            }
        }
    }

    /// Claims one agent. `stale` is the number of the outdated read, if a new read is necessary.
    async fn attempt(
        &self,
        call: &Call,
        few: usize,
        losses: u32,
        stale: Option<u32>,
    ) -> Result<Claimed> {
        if let Some(looks) = stale {
            pause(losses).await;
            // Other processes have probably taken more of these agents since the read.
            self.look(looks).await?;
        }
        let (pick, looks) = self.pick(few).await;
        let entry = match pick {
            Pick::Entry(entry) => entry,
            Pick::Few => return Ok(Claimed::Few),
            Pick::Later => {
                return Ok(Claimed::Lost {
                    looks,
                    counts: true,
                });
            }
        };
        let tried = self.queue.try_assign(call, Before::New, &entry).await?;
        let counts = matches!(tried, TryOutcome::Conflict);
        match tried {
            TryOutcome::Ended(met) => {
                match &*met {
                    MatchOutcome::Assigned(assignment) => {
                        self.queue.windows.won(self.criteria);
                        let matched = Ok(assigned(assignment.clone()));
                        drop(self.batch.passed_on(matched));
                    }
                    _ => drop(self.batch.claims().remove(&entry.ticket)),
                }
                return Ok(Claimed::Ended(met));
            }
            TryOutcome::Gone => self.queue.count_lost_match(),
            TryOutcome::Conflict => {
                self.batch.claims().remove(&entry.ticket);
                self.view.lock().await.lose(entry.ticket);
            }
        }
        self.queue.windows.lost(self.criteria);
        Ok(Claimed::Lost { looks, counts })
    }

    async fn pick(&self, few: usize) -> (Pick, u32) {
        let windows = &self.queue.windows;
        let (window, most) = (windows.of(self.criteria), windows.most());
        let view = self.view.lock().await;
        let pick = view.pick(&mut self.batch.claims(), few, window, most);
        (pick, view.looks)
    }

    /// Reads the agents again for all calls in the lane, unless another call has already done so.
    async fn look(&self, looks: u32) -> Result<()> {
        let mut view = self.view.lock().await;
        if view.looks == looks {
            let page = page(self.calls);
            let entries = self.queue.first_entries(self.criteria, page).await?;
            view.renew(entries);
        }
        Ok(())
    }
}

/// Pauses after each loss except the first. After the first, another agent is probably free.
pub async fn pause(losses: u32) {
    if let Some(further) = losses.checked_sub(2) {
        let longest = PAUSE.saturating_mul(2_u32.saturating_pow(further));
        let longest = longest.min(LONGEST_PAUSE);
        tokio::time::sleep(longest.mul_f64(fastrand::f64())).await;
    }
}
