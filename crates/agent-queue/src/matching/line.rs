//! Serves the pending calls of one criteria in order.

use crate::call::{Assignment, Call};
use crate::criteria::Criteria;
use crate::matching::first_agent::{MatchOutcome, call_there};
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, QueueError, Result};
use crate::transaction::{Before, Change};

#[derive(Debug, Default)]
pub(crate) struct Served {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) expired: u32,
    /// Whether an error or the queue's deadline ended the operation early.
    pub(crate) cut_short: bool,
}

impl Served {
    /// Returns the results so far, or the error if there are none.
    pub(crate) fn or_error(mut self, error: QueueError) -> Result<Self> {
        if self.assignments.is_empty() && self.expired == 0 {
            return Err(error);
        }
        tracing::warn!(%error, "not all pending calls were assigned");
        self.cut_short = true;
        Ok(self)
    }
}

impl AgentQueue {
    /// Assigns the pending calls of one criteria, oldest first, until none is left or no agent
    /// matches. Calls that waited too long expire.
    pub(crate) async fn serve(&self, criteria: &Criteria) -> Result<Served> {
        let first = || self.first_in_line(criteria);
        self.serve_each(first, |_| true).await
    }

    async fn first_in_line(&self, criteria: &Criteria) -> Result<Option<Call>> {
        let first = self.store.calls_in_line(criteria, 1).await?;
        Ok(first.into_iter().next())
    }

    /// Serves each call that `next` finds, as long as `goes_on` returns true and an agent matches.
    pub(crate) async fn serve_each<F: Future<Output = Result<Option<Call>>>>(
        &self,
        next: impl Fn() -> F,
        goes_on: impl Fn(&Served) -> bool,
    ) -> Result<Served> {
        let mut served = Served::default();
        let mut ended = None;
        while !self.is_over() {
            let one = async {
                match next().await? {
                    Some(call) => self.serve_call(&call, &mut served, &mut ended).await,
                    None => Ok(false),
                }
            };
            match one.await {
                Ok(true) if goes_on(&served) => {}
                Ok(_) => return Ok(served),
                Err(error) => return served.or_error(error),
            }
        }
        served.cut_short = true;
        Ok(served)
    }

    /// Serves the first call of a line. Returns whether to continue with the next one.
    pub(crate) async fn serve_call(
        &self,
        call: &Call,
        served: &mut Served,
        ended: &mut Option<CallId>,
    ) -> Result<bool> {
        if self.is_too_old(call) {
            return self.expire_first(call, served, ended).await;
        }
        match self.meet(call, Before::Pending).await? {
            MatchOutcome::Assigned(assignment) => served.assignments.push(assignment),
            // Another process ended the call's wait first.
            MatchOutcome::Known(_) => self.pass_over(call, ended).await?,
            MatchOutcome::NoRecord => self.restore(call).await?,
            MatchOutcome::NoAgent => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) async fn expire_first(
        &self,
        call: &Call,
        served: &mut Served,
        ended: &mut Option<CallId>,
    ) -> Result<bool> {
        let change = Change::expire(call, Before::Pending, self.clock.now());
        match self.commit("expire", &change).await? {
            Outcome::Done => served.expired += 1,
            Outcome::Rejected(rejections) => match call_there(&rejections) {
                Some(_) => self.pass_over(call, ended).await?,
                None => self.restore(call).await?,
            },
        }
        Ok(true)
    }

    /// Skips the first call of a line, because another process has ended its wait since this
    /// process read the line. If the next read returns the same call, its position is obsolete
    /// because the table was edited or restored. The position is then deleted.
    pub(crate) async fn pass_over(&self, call: &Call, ended: &mut Option<CallId>) -> Result<()> {
        if ended.as_ref() == Some(&call.id) {
            tracing::error!(call = %call.id, "deleting the obsolete position of a call in its line");
            self.commit("forget", &Change::forget(call)).await?;
        }
        *ended = Some(call.id.clone());
        Ok(())
    }

    /// Writes the item of a call that has a position in a line but lost its item when the table was
    /// edited or restored.
    pub(crate) async fn restore(&self, call: &Call) -> Result<()> {
        tracing::error!(call = %call.id, "the item of a pending call is missing; restoring it");
        self.commit("restore", &Change::restore(call)).await?;
        Ok(())
    }
}
