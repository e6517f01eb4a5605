//! Matches one call with the first matching agent.
//!
//! The agent's item decides: the agent must be queued with the ticket of its queue entry. An
//! outdated entry has another ticket, so the match tries the next agent.

use backon::BackoffBuilder;
use futures::{StreamExt, TryStreamExt, stream};

use crate::call::{Assignment, Call, CallRecord, CallState};
use crate::criteria::{Criteria, QueueName};
use crate::queue::{AgentQueue, Outcome, Result, Settings};
use crate::store::{Order, Rejection, There};
use crate::time::Micros;
use crate::transaction::{Before, Change, QueueEntry, Step, Term};

pub(crate) enum MatchOutcome {
    Assigned(Assignment),
    /// The call already has this state.
    Known(CallRecord),
    NoAgent,
    /// The call has a position in a line, but no item.
    NoRecord,
}

pub(crate) enum TryOutcome {
    Ended(Box<MatchOutcome>),
    /// The agent's status or ticket has changed.
    Gone,
    /// Another transaction was changing one of the items.
    Conflict,
}

/// Maximum number of queues or lines that are read concurrently.
pub(crate) const PARALLEL_READS: usize = 16;

impl AgentQueue {
    /// Assigns a call to the first matching agent of a read. After a conflict, reads again, because
    /// the other transaction has probably taken that agent, and another attempt on the agent would
    /// cause more conflicts.
    ///
    /// If the agent is not queued with the ticket of its entry, the entry was outdated when it was
    /// read. If the next read returns it again, the entry is obsolete (the table was edited or
    /// restored) and is deleted. Otherwise, a page of such entries would hide all agents behind it.
    pub(crate) async fn meet(&self, call: &Call, before: Before) -> Result<MatchOutcome> {
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
                tracing::error!(%queue, %agent, "deleting an obsolete queue entry of an agent");
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

    /// Tries the entries in order until the result is not [`TryOutcome::Gone`].
    async fn try_each(
        &self,
        call: &Call,
        before: Before,
        entries: &[QueueEntry],
    ) -> Result<TryOutcome> {
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
    ) -> Result<TryOutcome> {
        let (now, term) = self.term();
        self.try_change(Change::assign(call, before, entry, now, term))
            .await
    }

    pub(crate) async fn try_change(
        &self,
        (change, assignment): (Change, Assignment),
    ) -> Result<TryOutcome> {
        let rejections = match self.commit_unless_conflict(&change).await? {
            None => return Ok(TryOutcome::Conflict),
            Some(Outcome::Done) => {
                return Ok(TryOutcome::Ended(Box::new(MatchOutcome::Assigned(
                    assignment,
                ))));
            }
            Some(Outcome::Rejected(rejections)) => rejections,
        };
        if let Some(record) = call_there(&rejections) {
            return Ok(TryOutcome::Ended(Box::new(match record.state {
                // This change made the assignment, but its token expired before a response arrived.
                CallState::Assigned(made) if made == assignment => {
                    MatchOutcome::Assigned(assignment)
                }
                _ => MatchOutcome::Known(record),
            })));
        }
        let rejected = |what: fn(&Step) -> bool| {
            let mut steps = rejections.iter().filter_map(|is| change.steps.get(is.step));
            steps.any(what)
        };
        Ok(if rejected(|step| matches!(step, Step::Call(..))) {
            TryOutcome::Ended(Box::new(MatchOutcome::NoRecord))
        } else {
            TryOutcome::Gone
        })
    }

    /// Returns the first entries of the matching queues, ordered by position. Reads up to `page`
    /// entries per queue and returns up to `page`.
    pub(crate) async fn first_entries(
        &self,
        criteria: &Criteria,
        page: u16,
    ) -> Result<Vec<QueueEntry>> {
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
        // An agent can be in multiple matching queues.
        entries.dedup_by_key(|entry| place(entry));
        if order == Order::Lifo {
            entries.reverse();
        }
        entries.truncate(page.into());
        Ok(entries)
    }

    async fn queues_that_fit(&self, criteria: &Criteria) -> Result<Vec<QueueName>> {
        let mut queues = self.store.queue_names().await?;
        queues.retain(|queue| criteria.fits(queue));
        Ok(queues)
    }

    /// Returns the current time, and the term of an assignment made now.
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

pub(crate) fn call_there(rejections: &[Rejection]) -> Option<CallRecord> {
    rejections
        .iter()
        .find_map(|rejection| match &rejection.there {
            Some(There::Call(record)) => Some((**record).clone()),
            _ => None,
        })
}
