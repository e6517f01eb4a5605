//! One call and the agent who comes first among those that fit.
//!
//! What decides is the agent's own item (queued, with the ticket of the entry). An outdated entry
//! finds another ticket, and the next agent is tried.

use backon::BackoffBuilder;
use futures::{StreamExt, TryStreamExt, stream};

use crate::call::{Assignment, Call, CallRecord, CallState};
use crate::criteria::{Criteria, QueueName};
use crate::queue::{AgentQueue, Outcome, QueueError, Settings};
use crate::store::{Order, Refusal, There};
use crate::time::Micros;
use crate::transaction::{Before, Change, QueueEntry, Step, Term};

/// How one call and the queues met.
pub(crate) enum MatchOutcome {
    Assigned(Assignment),
    /// The call is in this state already.
    Known(CallRecord),
    /// No agent fits.
    NoAgent,
    /// The call has a place in a line, and no item of its own.
    NoRecord,
}

/// How one try with one agent ended.
pub(crate) enum TryOutcome {
    Ended(Box<MatchOutcome>),
    /// The agent is gone.
    Gone,
    /// Another transaction was in the way.
    Conflict,
}

/// How many queues or lines are read at once.
pub(crate) const PARALLEL_READS: usize = 16;

impl AgentQueue {
    /// One call and the agent who comes first among those that fit, as read. After a conflict it
    /// looks again: the other transaction has most likely taken that very agent, and a
    /// transaction to find that out would conflict with others.
    ///
    /// An entry whose agent is not queued by its ticket was outdated when it was read. If it is
    /// still there at the next look, it outlived its stay (the table was edited, or restored) and
    /// is deleted: otherwise a page of such entries would hide every agent behind it.
    pub(crate) async fn meet(
        &self,
        call: &Call,
        before: Before,
    ) -> Result<MatchOutcome, QueueError> {
        let mut pauses = self.pauses().build();
        let mut outdated: Vec<QueueEntry> = vec![];
        loop {
            let page = self.settings.page;
            let entries = self.first_entries(&call.criteria, page).await?;
            if entries.is_empty() {
                return Ok(MatchOutcome::NoAgent);
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
            if let TryOutcome::Ended(met) = tried {
                return Ok(*met);
            }
            let pause = pauses.next().filter(|_| !self.is_over());
            let pause = pause.ok_or_else(|| self.contended("match"))?;
            match tried {
                TryOutcome::Conflict => tokio::time::sleep(pause).await,
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
    ) -> Result<TryOutcome, QueueError> {
        for entry in entries {
            match self.try_assign(call, before, entry).await? {
                TryOutcome::Gone => self.count_lost_match(),
                tried => return Ok(tried),
            }
        }
        Ok(TryOutcome::Gone)
    }

    pub(crate) async fn try_assign(
        &self,
        call: &Call,
        before: Before,
        entry: &QueueEntry,
    ) -> Result<TryOutcome, QueueError> {
        let (now, term) = self.term();
        self.try_change(Change::assign(call, before, entry, now, term))
            .await
    }

    pub(crate) async fn try_change(
        &self,
        (change, assignment): (Change, Assignment),
    ) -> Result<TryOutcome, QueueError> {
        let refusals = match self.commit_unless_conflict(&change).await? {
            None => return Ok(TryOutcome::Conflict),
            Some(Outcome::Done) => {
                return Ok(TryOutcome::Ended(Box::new(MatchOutcome::Assigned(
                    assignment,
                ))));
            }
            Some(Outcome::Refused(refusals)) => refusals,
        };
        if let Some(record) = call_there(&refusals) {
            return Ok(TryOutcome::Ended(Box::new(match record.state {
                // By this very change, whose answer was lost for longer than its token is good.
                CallState::Assigned(made) if made == assignment => {
                    MatchOutcome::Assigned(assignment)
                }
                _ => MatchOutcome::Known(record),
            })));
        }
        let refused = |what: fn(&Step) -> bool| {
            let mut steps = refusals.iter().filter_map(|is| change.steps.get(is.step));
            steps.any(what)
        };
        Ok(if refused(|step| matches!(step, Step::Call(..))) {
            TryOutcome::Ended(Box::new(MatchOutcome::NoRecord))
        } else {
            TryOutcome::Gone
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

    /// Now, and the term of an assignment made now.
    pub(crate) fn term(&self) -> (Micros, Term) {
        let now = self.clock.now();
        let Settings {
            call_lease,
            answer_within,
            ..
        } = self.settings;
        let lasts = answer_within.or(call_lease);
        let term = Term {
            until: lasts.map(|lasts| now.plus(lasts)),
            answered: answer_within.is_none(),
        };
        (now, term)
    }
}

/// The call that stands in the way of a change.
pub(crate) fn call_there(refusals: &[Refusal]) -> Option<CallRecord> {
    refusals.iter().find_map(|refusal| match &refusal.there {
        Some(There::Call(record)) => Some((**record).clone()),
        _ => None,
    })
}
