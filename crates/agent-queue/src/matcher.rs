//! A call meets an agent, waits, or is given up.
//!
//! A new call looks first, and is assigned in one transaction if somebody is there and nobody
//! waits for the same: two calls of DynamoDB. Otherwise it is written among those waiting, and
//! then looks again: of a call and an agent that cross, the later one to have written sees the
//! other. What decides is the agent's own item (queued, with the ticket of the entry); an entry
//! that is outdated finds another ticket, and the next agent is tried.

use backon::BackoffBuilder;

use crate::call::{Assignment, Call, CallRecord, CallState};
use crate::change::{Before, Change, QueueEntry, Step};
use crate::criteria::{Criteria, QueueName};
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::store::{Order, Refusal, There};

/// What became of a call, and what is to be told.
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
}

/// How the wish to give a call up ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// It is given up, by this very wish.
    Done,
    /// It did not wait: its state, unchanged.
    Is(CallState),
    /// There was no such call.
    Unknown,
}

impl Cancel {
    /// The call's state now; `None` if there was none.
    #[must_use]
    pub fn state(self) -> Option<CallState> {
        match self {
            Self::Done => Some(CallState::Cancelled),
            Self::Is(state) => Some(state),
            Self::Unknown => None,
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
}

/// How one try with one agent ended.
enum Tried {
    Met(Box<Met>),
    /// The agent is gone.
    Gone,
    /// Another transaction was in the way.
    Conflict,
}

/// The assignments of one look at those waiting.
#[derive(Debug, Default)]
pub(crate) struct Served {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) expired: u32,
}

/// The most calls that are served by one look.
const MAX_SERVED: usize = 100;

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
            Met::Nobody | Met::OthersWait => {}
        }
        match self.commit("wait", &Change::wait(call)).await? {
            Outcome::Done => self.look_again(call, true).await,
            Outcome::Refused(refusals) => match call_there(&refusals) {
                Some(record) => self.known(record).await,
                None => self.look_again(call, false).await,
            },
        }
    }

    /// What became of a call; `None` if there was none of this id.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn call(&self, id: &CallId) -> Result<Option<CallRecord>, QueueError> {
        Ok(self.store.call(id).await?)
    }

    /// Gives a waiting call up; one that is assigned stays so.
    ///
    /// # Errors
    /// [`QueueError`]; repeat it.
    pub async fn cancel(&self, id: &CallId) -> Result<Cancel, QueueError> {
        let Some(record) = self.store.call(id).await? else {
            return Ok(Cancel::Unknown);
        };
        if record.state != CallState::Waiting {
            return Ok(Cancel::Is(record.state));
        }
        match self.commit("cancel", &Change::cancel(&record.call)).await? {
            Outcome::Done => Ok(Cancel::Done),
            Outcome::Refused(_) => match self.store.call(id).await? {
                Some(record) => Ok(Cancel::Is(record.state)),
                None => Ok(Cancel::Unknown),
            },
        }
    }

    /// A call that was delivered again. While it waits, it looks again: whoever wrote it may
    /// have died before the look.
    async fn known(&self, record: CallRecord) -> Result<Matched, QueueError> {
        match record.state {
            CallState::Waiting => self.look_again(&record.call, false).await,
            state => Ok(Matched {
                state,
                assignments: vec![],
                queued: false,
                expired: 0,
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
        })
    }

    /// Serves those who wait for the same, the longest waiting first, until none is left or no
    /// agent fits. Calls that waited for too long leave.
    pub(crate) async fn serve(&self, criteria: &Criteria) -> Result<Served, QueueError> {
        let mut served = Served::default();
        for _ in 0..MAX_SERVED {
            let first = self.store.waiting_calls(criteria, 1).await?;
            let Some(call) = first.into_iter().next() else {
                break;
            };
            if self.is_too_old(&call) {
                served.expired += u32::from(self.expire(&call).await?);
                continue;
            }
            match self.meet(&call, Before::Waiting).await? {
                Met::Assigned(assignment) => served.assignments.push(assignment),
                Met::Known(_) => {}
                Met::Nobody | Met::OthersWait => break,
            }
        }
        Ok(served)
    }

    /// One call and the agent who comes first among those that fit, as read. After a conflict it
    /// looks again: whoever was in the way has most likely taken that very agent, and a
    /// transaction to find that out would be in the way of others.
    pub(crate) async fn meet(&self, call: &Call, before: Before) -> Result<Met, QueueError> {
        let mut pauses = self.pauses().build();
        loop {
            let entries = self.first_entries(&call.criteria).await?;
            if entries.is_empty() {
                return Ok(Met::Nobody);
            }
            let tried = self.try_each(call, before, &entries).await?;
            if let Tried::Met(met) = tried {
                return Ok(*met);
            }
            let pause = pauses.next().ok_or_else(|| self.contended("match"))?;
            if let Tried::Conflict = tried {
                tokio::time::sleep(pause).await;
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
        let (change, assignment) = Change::assign(call, before, entry, now, until);
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
        let others_wait = refusals
            .iter()
            .any(|refusal| matches!(change.steps.get(refusal.step), Some(Step::NobodyWaits(_))));
        Ok(if others_wait {
            Tried::Met(Box::new(Met::OthersWait))
        } else {
            Tried::Gone
        })
    }

    /// The first entries of the queues that fit, merged by their places: a page of each.
    async fn first_entries(&self, criteria: &Criteria) -> Result<Vec<QueueEntry>, QueueError> {
        let order = self.settings.order;
        if let Some(queue) = criteria.exact() {
            return Ok(self.store.peek(&queue, order, self.settings.page).await?);
        }
        let mut entries: Vec<QueueEntry> = vec![];
        for queue in self.queues_that_fit(criteria).await? {
            entries.extend(self.store.peek(&queue, order, self.settings.page).await?);
        }
        let place = |entry: &QueueEntry| (entry.at, entry.agent.clone());
        entries.sort_by_key(place);
        // An agent may wait in several of the queues.
        entries.dedup_by_key(|entry| place(entry));
        if order == Order::Lifo {
            entries.reverse();
        }
        entries.truncate(self.settings.page.into());
        Ok(entries)
    }

    async fn queues_that_fit(&self, criteria: &Criteria) -> Result<Vec<QueueName>, QueueError> {
        let counters = self.store.queues().await?.into_iter();
        let fits = counters.filter(|is| is.depth > 0 && criteria.fits(&is.queue));
        Ok(fits.map(|is| is.queue).collect())
    }

    pub(crate) fn is_too_old(&self, call: &Call) -> bool {
        call.arrived.plus(self.settings.max_wait) <= self.clock.now()
    }

    /// A call that arrives when it is too late already.
    async fn give_up(&self, call: &Call) -> Result<Matched, QueueError> {
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
        })
    }

    /// A waiting call leaves; false if another was faster.
    pub(crate) async fn expire(&self, call: &Call) -> Result<bool, QueueError> {
        let change = Change::expire(call, Before::Waiting, self.clock.now());
        let outcome = self.commit("expire", &change).await?;
        Ok(matches!(outcome, Outcome::Done))
    }
}

fn answered(assignment: Assignment) -> Matched {
    Matched {
        state: CallState::Assigned(assignment.clone()),
        assignments: vec![assignment],
        queued: false,
        expired: 0,
    }
}

fn call_there(refusals: &[Refusal]) -> Option<CallRecord> {
    refusals.iter().find_map(|refusal| match &refusal.there {
        Some(There::Call(record)) => Some((**record).clone()),
        _ => None,
    })
}
