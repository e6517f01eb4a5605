//! The calls that wait for the same, served in their order.

use crate::call::{Assignment, Call};
use crate::criteria::Criteria;
use crate::meet::{MatchOutcome, call_there};
use crate::name::CallId;
use crate::queue::{AgentQueue, Outcome, QueueError};
use crate::transaction::{Before, Change};

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
            MatchOutcome::Assigned(assignment) => served.assignments.push(assignment),
            MatchOutcome::Known(_) => self.pass_over(call, ended).await?,
            MatchOutcome::NoRecord => self.restore(call).await?,
            MatchOutcome::NoAgent => return Ok(false),
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
}
