//! Conditional updates for the transitions.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::DynamoStore;
use super::item::{number, string};
use crate::schema;
use crate::store::{Candidate, TakeRequest};
use crate::task::{
    Counts, Lease, MAX_TTL_SECONDS, Reclaim, Retention, Return, Settlement, StatusKey, TaskStatus,
    TokenText, Ttl, truncate_error,
};
use crate::time::{EpochSeconds, Millis};

pub(super) const CRASHED: &str = "crashes = if_not_exists(crashes, :zero) + :one";

/// Returns the sweep's condition on the last start and on the number of earlier crashes, and the
/// value of `:crashes`.
pub(super) fn crash_condition(reclaim: &Reclaim) -> (&'static str, Option<u32>) {
    match reclaim {
        Reclaim::Fail { .. } => ("attribute_exists(alone)", None),
        Reclaim::Return { max_crashes, .. } if *max_crashes > 1 => (
            "NOT (attribute_exists(alone) AND crashes >= :crashes)",
            Some(max_crashes - 1),
        ),
        Reclaim::FailCrashing { max_crashes, .. } if *max_crashes > 1 => (
            "attribute_exists(alone) AND crashes >= :crashes",
            Some(max_crashes - 1),
        ),
        // With a maximum of one crash, no earlier crashes are checked.
        Reclaim::Return { .. } => ("attribute_not_exists(alone)", None),
        Reclaim::FailCrashing { .. } => ("attribute_exists(alone)", None),
    }
}

/// The change to `lastError`.
#[derive(Clone, Copy, Debug)]
pub(super) enum LastError<'a> {
    Unchanged,
    Is(&'a str),
    /// Removed because the item has no space for it.
    Dropped,
}

impl LastError<'_> {
    /// The terms to append to an expression's assignments and removals.
    pub(super) fn terms(self) -> (&'static str, &'static str) {
        match self {
            Self::Unchanged => ("", ""),
            Self::Is(_) => (", lastError = :error", ""),
            Self::Dropped => ("", ", lastError"),
        }
    }

    pub(super) fn fill(self, update: UpdateItemFluentBuilder) -> UpdateItemFluentBuilder {
        match self {
            Self::Is(reason) => {
                update.expression_attribute_values(":error", string(truncate_error(reason)))
            }
            Self::Unchanged | Self::Dropped => update,
        }
    }
}

impl DynamoStore {
    /// The update of a take; `None` if `ttl` is not a number.
    pub(super) fn take_update(&self, request: &TakeRequest) -> Option<UpdateItemFluentBuilder> {
        // An expiry in seconds is copied from the item itself, so that a `ttl` that changed after
        // the index read takes effect.
        let (deadline, in_time) = match request.candidate.ttl {
            Ttl::Missing => (":deadline", "attribute_not_exists(#ttl)"),
            Ttl::Seconds(_) => ("#ttl", "#ttl > :nowSeconds AND #ttl <= :maxSeconds"),
            Ttl::Milliseconds(_) => (":deadline", "#ttl > :now AND #ttl > :maxSeconds"),
            Ttl::Malformed => return None,
        };
        let alone = match request.alone {
            true => ", alone = :alone REMOVE notBefore, revived",
            false => " REMOVE notBefore, revived, alone",
        };
        let mut update = self
            .update(request.candidate.id.as_str())
            .update_expression(format!(
                "SET taskStatus = :taken, taskUpdated = :now, \
                 leaseToken = :token, leaseUntil = :until, \
                 attempts = if_not_exists(attempts, :zero) + :one, \
                 totalAttempts = if_not_exists(totalAttempts, :zero) + :one, \
                 expiresAt = {deadline}, #ttl = :takenTtl{alone}"
            ))
            .condition_expression(format!(
                "taskStatus = :pending AND NOT (notBefore > :now) AND {in_time} \
                 AND NOT begins_with(leaseToken, :token)"
            ))
            .return_values(ReturnValue::AllNew)
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":pending", string(StatusKey::from(TaskStatus::Pending)))
            .expression_attribute_values(":taken", string(StatusKey::from(TaskStatus::Taken)))
            .expression_attribute_values(":now", number(request.now.0))
            .expression_attribute_values(":token", string(request.token))
            .expression_attribute_values(":until", number(request.lease_until.0))
            .expression_attribute_values(":takenTtl", number(request.taken_ttl.0))
            .expression_attribute_values(":zero", number(0))
            .expression_attribute_values(":one", number(1));
        // DynamoDB rejects unused values.
        if request.alone {
            update = update.expression_attribute_values(":alone", AttributeValue::Bool(true));
        }
        update = match request.candidate.ttl {
            Ttl::Missing => {
                update.expression_attribute_values(":deadline", number(request.default_deadline.0))
            }
            Ttl::Milliseconds(at) => update
                .expression_attribute_values(":deadline", number(at.floor_seconds().0))
                .expression_attribute_values(":maxSeconds", number(MAX_TTL_SECONDS)),
            Ttl::Seconds(_) | Ttl::Malformed => update
                .expression_attribute_values(":nowSeconds", number(request.now.floor_seconds().0))
                .expression_attribute_values(":maxSeconds", number(MAX_TTL_SECONDS)),
        };
        Some(update)
    }

    /// An update by the holder of a task's lease. The condition fails if a newer state of the key
    /// was written during the run.
    pub(super) fn held(&self, lease: &Lease) -> UpdateItemFluentBuilder {
        self.update(lease.task.as_str())
            .condition_expression(
                "taskStatus = :taken AND leaseToken = :token AND attribute_not_exists(overtaken)",
            )
            .expression_attribute_values(":taken", string(StatusKey::from(TaskStatus::Taken)))
            .expression_attribute_values(":token", string(lease.token))
    }

    /// TAKEN → SUCCESS or FAILURE, by the lease's token.
    pub(super) fn settle_update(
        &self,
        lease: &Lease,
        settlement: &Settlement,
        reason: LastError<'_>,
        retention: &Retention,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        let keep_until = now.ceil_seconds().plus(retention.after(settlement));
        let (set_error, remove_error) = reason.terms();
        let update = self
            .held(lease)
            .update_expression(format!(
                "SET taskStatus = :target, taskUpdated = :now, #ttl = :ttl{set_error} \
                 REMOVE leaseUntil, notBefore, expiresAt, crashes{remove_error}"
            ))
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":target", string(StatusKey::from(settlement.status())))
            .expression_attribute_values(":now", number(now.0))
            .expression_attribute_values(":ttl", number(keep_until.0));
        reason.fill(update)
    }

    /// TAKEN → PENDING, by the lease's token.
    pub(super) fn return_update(
        &self,
        lease: &Lease,
        returned: &Return,
        reason: LastError<'_>,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        let (set_error, remove_error) = reason.terms();
        let attempts = match returned.counts {
            Counts::Attempt => "",
            Counts::Start => ", attempts = attempts - :one",
            Counts::Nothing => ", attempts = attempts - :one, totalAttempts = totalAttempts - :one",
        };
        let mark = match returned.lease_expired {
            true => ", leaseToken = :marked",
            false => "",
        };
        let mut update = self
            .held(lease)
            .update_expression(format!(
                "SET taskStatus = :target, taskUpdated = :now, notBefore = :notBefore, \
                 #ttl = if_not_exists(expiresAt, #ttl){set_error}{attempts}{mark} \
                 REMOVE leaseUntil, expiresAt{remove_error}"
            ))
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":target", string(StatusKey::from(TaskStatus::Pending)))
            .expression_attribute_values(":now", number(now.0))
            .expression_attribute_values(":notBefore", number(returned.not_before.0));
        if returned.counts != Counts::Attempt {
            update = update.expression_attribute_values(":one", number(1));
        }
        if returned.lease_expired {
            let marked = TokenText {
                token: Some(lease.token),
                lease_expired: true,
            };
            update = update.expression_attribute_values(":marked", string(marked));
        }
        reason.fill(update)
    }

    /// PENDING → FAILURE with the reason. The task is kept until `keep_until`.
    pub(super) fn quarantine_update(
        &self,
        seen: &Candidate,
        reason: &str,
        keep_until: EpochSeconds,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        self.pending_to_failure(seen)
            .update_expression(
                "SET taskStatus = :failure, taskUpdated = :now, #ttl = :ttl, lastError = :error \
                 REMOVE leaseUntil, notBefore, expiresAt, leaseToken",
            )
            .expression_attribute_values(":now", number(now.0))
            .expression_attribute_values(":ttl", number(keep_until.0))
            .expression_attribute_values(":error", string(truncate_error(reason)))
    }

    /// PENDING → FAILURE for an item at DynamoDB's size limit. The two status names have the same
    /// length, so the item does not grow. Its `ttl` is unchanged.
    pub(super) fn bare_quarantine_update(&self, seen: &Candidate) -> UpdateItemFluentBuilder {
        self.pending_to_failure(seen)
            .update_expression("SET taskStatus = :failure")
    }

    /// An update of a PENDING task whose creation time and `ttl` match `seen`. Both were rounded
    /// down when they were read, because a direct writer may have written decimals.
    fn pending_to_failure(&self, seen: &Candidate) -> UpdateItemFluentBuilder {
        let (ttl, number_seen) = match seen.ttl {
            Ttl::Missing => ("attribute_not_exists(#ttl)", None),
            Ttl::Seconds(at) => ("#ttl >= :seen AND #ttl < :above", Some(at.0)),
            Ttl::Milliseconds(at) => ("#ttl >= :seen AND #ttl < :above", Some(at.0)),
            Ttl::Malformed => (
                "attribute_exists(#ttl) AND NOT attribute_type(#ttl, :number)",
                None,
            ),
        };
        let mut update = self
            .update(seen.id.as_str())
            .condition_expression(format!(
                "taskStatus = :pending AND taskCreated >= :created AND taskCreated < :later \
                 AND {ttl}"
            ))
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":pending", string(StatusKey::from(TaskStatus::Pending)))
            .expression_attribute_values(":failure", string(StatusKey::from(TaskStatus::Failure)))
            .expression_attribute_values(":created", number(seen.created.0))
            .expression_attribute_values(":later", number(seen.created.0.saturating_add(1)));
        if let Some(at) = number_seen {
            update = update
                .expression_attribute_values(":seen", number(at))
                .expression_attribute_values(":above", number(at.saturating_add(1)));
        }
        if seen.ttl == Ttl::Malformed {
            update = update.expression_attribute_values(":number", string("N"));
        }
        update
    }
}
