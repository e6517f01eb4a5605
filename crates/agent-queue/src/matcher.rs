//! Assigns a call, or makes it pending or cancelled.
//!
//! A new call looks first, and is assigned in one transaction if an agent matches and no call
//! of the same criteria is pending: two requests of DynamoDB. Otherwise it is written as pending, and
//! then looks again: of a call and an agent that cross, the later one to have written sees the
//! other. What decides is the agent's own item (queued, with the ticket of the entry); an entry
//! that is outdated finds another ticket, and the next agent is tried.

use backon::BackoffBuilder;
use futures::{StreamExt, TryStreamExt, stream};

use crate::call::{Assignment, Call, CallRecord, CallState};
use crate::change::{Before, Change, QueueEntry, Step};
use crate::criteria::{Criteria, QueueName};
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::store::{Order, Refusal, There};

/// The outcome of a call, and the events to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The call's state.
    pub state: CallState,
    /// The assignments made, to tell: this call's, and those of calls that waited for longer.
    pub assignments: Vec<Assignment>,
    /// Whether the call was new and now waits.
    pub queued: bool,
    /// How many calls were found to have waited for too long.
    pub expired: u32,
    /// Whether the look ended early, by an error or the queue's deadline: repeat the same call.
    pub cut_short: bool,
}

/// How the wish to give a call up ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// It is cancelled by this request.
    Done,
    /// It had ended before: its state, unchanged.
    Is(CallState),
}

impl Cancel {
    /// The call's state now.
    #[must_use]
    pub fn state(self) -> CallState {
        match self {
            Self::Done => CallState::Cancelled,
            Self::Is(state) => state,
        }
    }
}

/// How one call and the queues met.
pub(crate) enum Met {
    Assigned(Assignment),
    /// The call is in this state already.
    Known(CallRecord),
    /// No agent fits.
    Nobody,
    /// Calls wait for the same: they come first.
    OthersWait,
    /// The call has a place in a line, and no item of its own.
    NoRecord,
}

/// How one try with one agent ended.
pub(crate) enum Tried {
    Met(Box<Met>),
    /// The agent is gone.
    Gone,
    /// Another transaction was in the way.
    Conflict,
}

/// How many queues or lines are read at once.
pub(crate) const PARALLEL_READS: usize = 16;

/// The assignments of one look at those waiting.
#[derive(Debug, Default)]
pub(crate) struct Served {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) expired: u32,
    /// Whether it ended early, by an error or the queue's deadline.
    pub(crate) cut_short: bool,
}

impl Served {
    /// Keeps what was done before an error. An error before anything was done is the answer.
    pub(crate) fn or_error(mut self, error: QueueError) -> Result<Self, QueueError> {
        if self.assignments.is_empty() && self.expired == 0 {
            return Err(error);
        }
        tracing::warn!(%error, "a look at waiting calls ended early");
        self.cut_short = true;
        Ok(self)
    }
}

impl AgentQueue {
    /// Assigns a call, or lets it wait. A call that is known gets its first answer again.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it with the same id.
    pub async fn match_call(&self, call: &Call) -> Result<Matched, QueueError> {
        if self.is_too_old(call) {
            return self.give_up(call).await;
        }
        match self.meet(call, Before::New).await? {
            Met::Assigned(assignment) => return Ok(answered(assignment)),
            Met::Known(record) => return self.known(record).await,
            Met::Nobody | Met::OthersWait | Met::NoRecord => {}
        }
        self.wait(call).await
    }

    /// A new call joins the line of its criteria, and the line is served.
    pub(crate) async fn wait(&self, call: &Call) -> Result<Matched, QueueError> {
        match self.commit("wait", &Change::wait(call)).await? {
            Outcome::Done => self.look_again(call, true).await,
            Outcome::Refused(refusals) => match call_there(&refusals) {
                Some(record) => self.known(record).await,
                None => self.look_again(call, false).await,
            },
        }
    }

    /// The outcome of a call; `None` if there was none of this id.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn call(&self, id: &CallId) -> Result<Option<CallRecord>, QueueError> {
        Ok(self.store.call(id).await?)
    }

    /// Gives a call up, waiting or not arrived yet; one that is assigned stays so. A call that
    /// arrives after it was cancelled is not assigned.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn cancel(&self, id: &CallId) -> Result<Cancel, QueueError> {
        let mut before = self.store.call(id).await?;
        loop {
            let change = match &before {
                None => Change::cancel_early(Call {
                    id: id.clone(),
                    criteria: self.settings.dimensions.any(),
                    arrived: self.clock.now(),
                    sequence: 0,
                }),
                Some(record) if record.state == CallState::Waiting => Change::cancel(&record.call),
                Some(record) => return Ok(Cancel::Is(record.state.clone())),
            };
            match self.commit("cancel", &change).await? {
                Outcome::Done => return Ok(Cancel::Done),
                // It arrived, or ended, in between.
                Outcome::Refused(refusals) => before = call_there(&refusals),
            }
        }
    }

    /// A redelivered call. While it is pending, it reads again: the process that wrote it may
    /// have crashed before its read.
    pub(crate) async fn known(&self, record: CallRecord) -> Result<Matched, QueueError> {
        match record.state {
            CallState::Waiting => self.look_again(&record.call, false).await,
            state => Ok(Matched {
                state,
                assignments: vec![],
                queued: false,
                expired: 0,
                cut_short: false,
            }),
        }
    }

    async fn look_again(&self, call: &Call, queued: bool) -> Result<Matched, QueueError> {
        let served = self.serve(&call.criteria).await?;
        let ours = served
            .assignments
            .iter()
            .find(|made| made.call_id == call.id);
        let state = match ours {
            Some(assignment) => CallState::Assigned(assignment.clone()),
            // Another may have served it meanwhile.
            None => match self.store.call(&call.id).await? {
                Some(record) => record.state,
                None => CallState::Waiting,
            },
        };
        Ok(Matched {
            state,
            assignments: served.assignments,
            queued,
            expired: served.expired,
            cut_short: served.cut_short,
        })
    }

    /// Serves the calls that wait for the same, the longest waiting first, until none is left or
    /// no agent fits. Calls that waited for too long leave.
    pub(crate) async fn serve(&self, criteria: &Criteria) -> Result<Served, QueueError> {
        let mut served = Served::default();
        let mut ended = None;
        while !self.is_over() {
            match self.serve_first(criteria, &mut served, &mut ended).await {
                Ok(true) => {}
                Ok(false) => return Ok(served),
                Err(error) => return served.or_error(error),
            }
        }
        served.cut_short = true;
        Ok(served)
    }

    async fn serve_first(
        &self,
        criteria: &Criteria,
        served: &mut Served,
        ended: &mut Option<CallId>,
    ) -> Result<bool, QueueError> {
        let first = self.store.waiting_calls(criteria, 1).await?;
        match first.into_iter().next() {
            Some(call) => self.serve_call(&call, served, ended).await,
            None => Ok(false),
        }
    }

    /// Serves the first call of a line. Whether the next one may be served, too.
    pub(crate) async fn serve_call(
        &self,
        call: &Call,
        served: &mut Served,
        ended: &mut Option<CallId>,
    ) -> Result<bool, QueueError> {
        if self.is_too_old(call) {
            return self.expire_first(call, served, ended).await;
        }
        match self.meet(call, Before::Waiting).await? {
            Met::Assigned(assignment) => served.assignments.push(assignment),
            Met::Known(_) => self.pass_over(call, ended).await?,
            Met::NoRecord => self.restore(call).await?,
            Met::Nobody | Met::OthersWait => return Ok(false),
        }
        Ok(true)
    }

    /// The first call of a line has waited for too long and leaves.
    pub(crate) async fn expire_first(
        &self,
        call: &Call,
        served: &mut Served,
        ended: &mut Option<CallId>,
    ) -> Result<bool, QueueError> {
        let change = Change::expire(call, Before::Waiting, self.clock.now());
        match self.commit("expire", &change).await? {
            Outcome::Done => served.expired += 1,
            Outcome::Refused(refusals) => match call_there(&refusals) {
                Some(_) => self.pass_over(call, ended).await?,
                None => self.restore(call).await?,
            },
        }
        Ok(true)
    }

    /// The first call of a line has ended. Another process ended its wait since this one read the
    /// line. A call that is still the first at the next look has a place that outlived its wait
    /// (the table was edited, or restored): the place is deleted.
    pub(crate) async fn pass_over(
        &self,
        call: &Call,
        ended: &mut Option<CallId>,
    ) -> Result<(), QueueError> {
        if ended.as_ref() == Some(&call.id) {
            tracing::error!(call = %call.id, "a place in a line outlived its call's wait; it is deleted");
            self.commit("forget", &Change::forget(call)).await?;
        }
        *ended = Some(call.id.clone());
        Ok(())
    }

    /// A call that waits without an item of its own gets one again: the table was edited, or
    /// restored.
    pub(crate) async fn restore(&self, call: &Call) -> Result<(), QueueError> {
        tracing::error!(call = %call.id, "a waiting call has no item of its own; it is written again");
        self.commit("restore", &Change::restore(call)).await?;
        Ok(())
    }

    /// One call and the agent who comes first among those that fit, as read. After a conflict it
    /// looks again: the other transaction has most likely taken that very agent, and a
    /// transaction to find that out would conflict with others.
    ///
    /// An entry whose agent is not queued by its ticket was outdated when it was read. If it is
    /// still there at the next look, it outlived its stay (the table was edited, or restored) and
    /// is deleted: otherwise a page of such entries would hide every agent behind it.
    pub(crate) async fn meet(&self, call: &Call, before: Before) -> Result<Met, QueueError> {
        let mut pauses = self.pauses().build();
        let mut outdated: Vec<QueueEntry> = vec![];
        loop {
            let page = self.settings.page;
            let entries = self.first_entries(&call.criteria, page).await?;
            if entries.is_empty() {
                return Ok(Met::Nobody);
            }
            let (outlived, entries): (Vec<_>, Vec<_>) = entries
                .into_iter()
                .partition(|entry| outdated.contains(entry));
            for entry in &outlived {
                let (queue, agent) = (&entry.queue, &entry.agent);
                tracing::error!(%queue, %agent, "an entry outlived its agent's stay; it is deleted");
                self.commit("discard", &Change::discard(entry)).await?;
            }
            let tried = self.try_each(call, before, &entries).await?;
            if let Tried::Met(met) = tried {
                return Ok(*met);
            }
            let pause = pauses.next().filter(|_| !self.is_over());
            let pause = pause.ok_or_else(|| self.contended("match"))?;
            match tried {
                Tried::Conflict => tokio::time::sleep(pause).await,
                _ => outdated = entries,
            }
        }
    }

    /// One entry after the other, until an agent is there or another transaction in the way.
    async fn try_each(
        &self,
        call: &Call,
        before: Before,
        entries: &[QueueEntry],
    ) -> Result<Tried, QueueError> {
        for entry in entries {
            match self.try_assign(call, before, entry).await? {
                Tried::Gone => self.count_lost_match(),
                tried => return Ok(tried),
            }
        }
        Ok(Tried::Gone)
    }

    async fn try_assign(
        &self,
        call: &Call,
        before: Before,
        entry: &QueueEntry,
    ) -> Result<Tried, QueueError> {
        let now = self.clock.now();
        let until = self.settings.call_lease.map(|lease| now.plus(lease));
        self.try_change(Change::assign(call, before, entry, now, until))
            .await
    }

    /// The same for a new call of a lane, which has seen that no call of its criteria waits.
    pub(crate) async fn try_assign_in_lane(
        &self,
        call: &Call,
        entry: &QueueEntry,
    ) -> Result<Tried, QueueError> {
        let now = self.clock.now();
        let until = self.settings.call_lease.map(|lease| now.plus(lease));
        self.try_change(Change::assign_in_lane(call, entry, now, until))
            .await
    }

    async fn try_change(
        &self,
        (change, assignment): (Change, Assignment),
    ) -> Result<Tried, QueueError> {
        let refusals = match self.commit_unless_conflict(&change).await? {
            None => return Ok(Tried::Conflict),
            Some(Outcome::Done) => return Ok(Tried::Met(Box::new(Met::Assigned(assignment)))),
            Some(Outcome::Refused(refusals)) => refusals,
        };
        if let Some(record) = call_there(&refusals) {
            return Ok(Tried::Met(Box::new(match record.state {
                // By this very change, whose answer was lost for longer than its token is good.
                CallState::Assigned(made) if made == assignment => Met::Assigned(assignment),
                _ => Met::Known(record),
            })));
        }
        let refused = |what: fn(&Step) -> bool| {
            let mut steps = refusals.iter().filter_map(|is| change.steps.get(is.step));
            steps.any(what)
        };
        Ok(if refused(|step| matches!(step, Step::Call(..))) {
            Tried::Met(Box::new(Met::NoRecord))
        } else if refused(|step| matches!(step, Step::NobodyWaits(_))) {
            Tried::Met(Box::new(Met::OthersWait))
        } else {
            Tried::Gone
        })
    }

    /// The first entries of the queues that fit, merged by their places: a page of each.
    pub(crate) async fn first_entries(
        &self,
        criteria: &Criteria,
        page: u16,
    ) -> Result<Vec<QueueEntry>, QueueError> {
        let order = self.settings.order;
        if let Some(queue) = criteria.exact() {
            return Ok(self.store.peek(&queue, order, page).await?);
        }
        let queues = self.queues_that_fit(criteria).await?;
        let peek = |queue| self.store.peek(queue, order, page);
        let peeks: Vec<_> = queues.iter().map(peek).collect();
        let peeks = stream::iter(peeks).buffered(PARALLEL_READS);
        let mut entries: Vec<QueueEntry> = peeks.try_concat().await?;
        let place = |entry: &QueueEntry| (entry.at, entry.agent.clone());
        entries.sort_by_key(place);
        // An agent may wait in several of the queues.
        entries.dedup_by_key(|entry| place(entry));
        if order == Order::Lifo {
            entries.reverse();
        }
        entries.truncate(page.into());
        Ok(entries)
    }

    async fn queues_that_fit(&self, criteria: &Criteria) -> Result<Vec<QueueName>, QueueError> {
        let mut queues = self.store.queue_names().await?;
        queues.retain(|queue| criteria.fits(queue));
        Ok(queues)
    }

    pub(crate) fn is_too_old(&self, call: &Call) -> bool {
        call.arrived.plus(self.settings.max_wait) <= self.clock.now()
    }

    /// A call that arrives when it is too late already.
    pub(crate) async fn give_up(&self, call: &Call) -> Result<Matched, QueueError> {
        let change = Change::expire(call, Before::New, self.clock.now());
        let known = match self.commit("expire", &change).await? {
            Outcome::Done => None,
            Outcome::Refused(refusals) => call_there(&refusals),
        };
        let (state, expired) = match known {
            None => (CallState::Expired, 1),
            Some(record) if record.state == CallState::Waiting => {
                let expired = self.expire(&record.call).await?;
                let now = self.store.call(&call.id).await?;
                let state = now.map_or(CallState::Expired, |record| record.state);
                (state, u32::from(expired))
            }
            Some(record) => (record.state, 0),
        };
        Ok(Matched {
            state,
            assignments: vec![],
            queued: false,
            expired,
            cut_short: false,
        })
    }

    /// A waiting call leaves; false if another process was faster.
    async fn expire(&self, call: &Call) -> Result<bool, QueueError> {
        let change = Change::expire(call, Before::Waiting, self.clock.now());
        let outcome = self.commit("expire", &change).await?;
        Ok(matches!(outcome, Outcome::Done))
    }
}

pub(crate) fn answered(assignment: Assignment) -> Matched {
    Matched {
        state: CallState::Assigned(assignment.clone()),
        assignments: vec![assignment],
        queued: false,
        expired: 0,
        cut_short: false,
    }
}

fn call_there(refusals: &[Refusal]) -> Option<CallRecord> {
    refusals.iter().find_map(|refusal| match &refusal.there {
        Some(There::Call(record)) => Some((**record).clone()),
        _ => None,
    })
}
