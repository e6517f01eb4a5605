//! The in-memory control item.

use async_trait::async_trait;

use super::MemoryStore;
use crate::control::{
    Acquired, Carried, Claim, Control, IdleTurns, Pause, ProcessorLease, Release, Released,
    Renewal, Renewed,
};
use crate::store::{ControlStore, StoreError, Written};
use crate::task::truncate_error;
use crate::time::Millis;

impl Control {
    fn carry(&mut self, carried: &Carried) {
        self.breaker = carried.breaker;
        self.health = carried.health;
        self.overloaded_since = carried.overloaded_since;
        self.observed = carried.observed.clone();
        self.rate_full_at = carried.rate_full_at.or(self.rate_full_at);
    }
}

#[async_trait]
impl ControlStore for MemoryStore {
    async fn request(&self) -> Result<Control, StoreError> {
        let mut state = self.lock();
        state.control.requested += 1;
        Ok(state.control.clone())
    }

    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let control = &mut self.lock().control;
        if control.live_lease(now).is_some() || control.is_notified_by_other(event, now) {
            return Ok(Written::Lost);
        }
        control.notified_until = Some(until);
        control.notified_by = Some(event.to_owned());
        Ok(Written::Done)
    }

    async fn control(&self) -> Result<Control, StoreError> {
        Ok(self.lock().control.clone())
    }

    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError> {
        let control = &mut self.lock().control;
        if let Some(lease) = control
            .live_lease(now)
            .filter(|lease| lease.owner != claim.owner)
        {
            return Ok(Acquired::Held(lease.clone()));
        }
        if let Some(until) = control.paused_until.filter(|until| *until > now) {
            return Ok(Acquired::Paused(until));
        }
        let before = control.clone();
        control.lease = Some(ProcessorLease {
            owner: claim.owner,
            message_id: claim.message_id.clone(),
            until: claim.until,
        });
        control.notified_until = None;
        control.notified_by = None;
        control.rate_full_at = claim.rate_full_at.or(control.rate_full_at);
        Ok(Acquired::Ours(before))
    }

    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError> {
        let control = &mut self.lock().control;
        let lease = control.lease.as_mut();
        match lease.filter(|lease| lease.owner == renewal.owner) {
            Some(lease) => {
                lease.until = renewal.until;
                control.carry(&renewal.carried);
                Ok(Renewed::Ours(control.clone()))
            }
            None => Ok(Renewed::Lost),
        }
    }

    async fn release(&self, release: &Release) -> Result<Released, StoreError> {
        let control = &mut self.lock().control;
        if control
            .lease
            .as_ref()
            .is_none_or(|lease| lease.owner != release.owner)
        {
            return Ok(Released::NotOurs);
        }
        if release
            .if_requested_is
            .is_some_and(|seen| seen != control.requested)
        {
            return Ok(Released::Requested(control.clone()));
        }
        control.lease = None;
        control.notified_until = None;
        control.notified_by = None;
        control.idle_turns = match release.idle_turns {
            IdleTurns::Reset => 0,
            IdleTurns::Add => control.idle_turns + 1,
            IdleTurns::Keep => control.idle_turns,
        };
        control.carry(&release.carried);
        Ok(Released::Done {
            idle_turns: control.idle_turns,
        })
    }

    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError> {
        let control = &mut self.lock().control;
        if control
            .paused_until
            .is_some_and(|there| there >= pause.until)
        {
            return Ok(Written::Lost);
        }
        control.paused_until = Some(pause.until);
        control.pause_reason = Some(truncate_error(&pause.reason).to_owned());
        control.paused_by = pause.by.clone();
        Ok(Written::Done)
    }
}
