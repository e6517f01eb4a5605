//! Ends expired leases on DynamoDB.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;

use super::item::{self, number, string};
use super::keyed::OvertakenEnd;
use super::update::{CRASHED, LastError, crash_condition};
use super::{DynamoStore, Updated, send, send_fitting};
use crate::schema;
use crate::store::{StoreError, Written};
use crate::task::{Lease, Reclaim, StatusKey, TaskStatus, TokenText};
use crate::time::Millis;

impl DynamoStore {
    pub(super) async fn end_expired(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let update = |reason: LastError<'_>| self.reclaim_update(lease, reclaim, reason, now);
        let reason = LastError::Is(reclaim.reason());
        let answer = send_fitting(update, reason, &lease.task).await;
        let answer = match (answer, reclaim) {
            // The item has neither `expiresAt` nor `ttl`. Only a direct writer can cause this.
            (Err(error), Reclaim::Return { not_before, .. }) if error.is_validation() => {
                send(self.bare_return_update(lease, *not_before, now)).await
            }
            (answer, _) => answer,
        };
        let there = match answer? {
            Updated::Done(_) => return Ok(Written::Done),
            Updated::Rejected(there) => there,
        };
        let is_overtaken =
            item::is_ours(&there, TaskStatus::Taken, lease.token) && item::is_overtaken(&there);
        let not_before = match reclaim {
            Reclaim::Return { not_before, .. } => Some(*not_before),
            Reclaim::FailCrashing { .. } => None,
            // The newer state has attempts left, so it must not fail.
            Reclaim::Fail { .. } => return Ok(Written::Lost),
        };
        if !is_overtaken {
            return Ok(Written::Lost);
        }
        let end = OvertakenEnd {
            not_before,
            token: Some(TokenText::SUSPECT),
            supersedes: true,
            swept: Some(reclaim),
        };
        self.end_overtaken(lease, &end, reason, now).await
    }

    /// TAKEN → PENDING or FAILURE, if this lease is unchanged and has expired.
    fn reclaim_update(
        &self,
        lease: &Lease,
        reclaim: &Reclaim,
        reason: LastError<'_>,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        let (set_error, remove_error) = reason.terms();
        let (change, value) = match reclaim {
            Reclaim::Return { not_before, .. } => (
                "notBefore = :value, #ttl = if_not_exists(expiresAt, #ttl)",
                not_before.0,
            ),
            Reclaim::Fail { keep_until } | Reclaim::FailCrashing { keep_until, .. } => {
                ("#ttl = :value", keep_until.0)
            }
        };
        let (condition, crashes) = crash_condition(reclaim);
        let mut update = self
            .held(lease)
            .update_expression(format!(
                "SET taskStatus = :target, taskUpdated = :now, leaseToken = :suspect, \
                 {CRASHED}, {change}{set_error} \
                 REMOVE leaseUntil, expiresAt{remove_error}"
            ))
            .condition_expression(format!(
                "taskStatus = :taken AND leaseToken = :token AND leaseUntil <= :now \
                 AND attribute_not_exists(overtaken) AND {condition}"
            ))
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":target", string(StatusKey::from(reclaim.status())))
            .expression_attribute_values(":now", number(now.0))
            .expression_attribute_values(":suspect", string(TokenText::SUSPECT))
            .expression_attribute_values(":value", number(value))
            .expression_attribute_values(":zero", number(0))
            .expression_attribute_values(":one", number(1));
        if let Some(crashes) = crashes {
            update = update.expression_attribute_values(":crashes", number(crashes));
        }
        reason.fill(update)
    }

    /// Like [`reclaim_update`](Self::reclaim_update) to PENDING, for a task without an expiry to
    /// restore. The next sweep sets an expiry.
    fn bare_return_update(
        &self,
        lease: &Lease,
        not_before: Millis,
        now: Millis,
    ) -> UpdateItemFluentBuilder {
        self.held(lease)
            .update_expression(
                "SET taskStatus = :target, taskUpdated = :now, notBefore = :notBefore \
                 REMOVE leaseToken, leaseUntil, expiresAt, lastError",
            )
            .condition_expression(
                "taskStatus = :taken AND leaseToken = :token AND leaseUntil <= :now \
                 AND attribute_not_exists(overtaken) AND attribute_not_exists(#ttl)",
            )
            .expression_attribute_names("#ttl", schema::TTL)
            .expression_attribute_values(":target", string(StatusKey::from(TaskStatus::Pending)))
            .expression_attribute_values(":now", number(now.0))
            .expression_attribute_values(":notBefore", number(not_before.0))
    }
}
