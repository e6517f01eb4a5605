//! The control item on DynamoDB.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValue;

use super::item::{self, number, string};
use super::{DynamoStore, Updated, send};
use crate::control::{
    Acquired, Carried, Claim, Control, IdleTurns, Pause, Release, Released, Renewal, Renewed,
};
use crate::schema;
use crate::store::{ControlStore, StoreError, Written};
use crate::task::truncate_error;
use crate::time::Millis;

const NO_LIVE_LEASE: &str = "(attribute_not_exists(leaseUntil) OR leaseUntil <= :now)";

impl DynamoStore {
    pub(super) fn update_control(&self) -> UpdateItemFluentBuilder {
        self.update(schema::CONTROL_ITEM)
    }
}

impl Carried {
    /// The assignments, each with a leading comma, to append to an expression.
    fn assignments(&self) -> String {
        let breaker = self
            .breaker
            .map(|_| ", breakerSince = :since, breakerProbes = :probes");
        let overload = self
            .overloaded_since
            .map(|_| ", overloadedSince = :overloadedSince");
        let rate = self.rate_full_at.map(|_| ", rateFullAt = :rateFullAt");
        let some = breaker.into_iter().chain(overload).chain(rate);
        some.chain([", observed = :observed, health = :health"])
            .collect()
    }

    /// The attributes to remove.
    fn removals(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if self.breaker.is_none() {
            names.extend(["breakerSince", "breakerProbes"]);
        }
        if self.overloaded_since.is_none() {
            names.push("overloadedSince");
        }
        names
    }

    fn fill(&self, update: UpdateItemFluentBuilder) -> Result<UpdateItemFluentBuilder, StoreError> {
        let observed = item::map("UpdateItem", &self.observed)?;
        let health = item::map("UpdateItem", &self.health)?;
        let mut update = update
            .expression_attribute_values(":observed", observed)
            .expression_attribute_values(":health", health);
        if let Some(open) = self.breaker {
            update = update
                .expression_attribute_values(":since", number(open.since.0))
                .expression_attribute_values(":probes", number(open.probes));
        }
        if let Some(since) = self.overloaded_since {
            update = update.expression_attribute_values(":overloadedSince", number(since.0));
        }
        if let Some(at) = self.rate_full_at {
            update = update.expression_attribute_values(":rateFullAt", number(at.0));
        }
        Ok(update)
    }
}

#[async_trait]
impl ControlStore for DynamoStore {
    async fn request(&self) -> Result<Control, StoreError> {
        // This update is unconditional, so a client retry after a lost acknowledgement counts
        // twice. The only effect is that the processor reads the index once more.
        let update = self
            .update_control()
            .update_expression("ADD requested :one")
            .return_values(ReturnValue::AllNew)
            .expression_attribute_values(":one", number(1));
        match send(update).await? {
            Updated::Done(item) | Updated::Rejected(item) => Ok(item::control(&item)),
        }
    }

    async fn mark_notified(
        &self,
        event: &str,
        until: Millis,
        now: Millis,
    ) -> Result<Written, StoreError> {
        let update = self
            .update_control()
            .update_expression("SET notifiedUntil = :mark, notifiedBy = :event")
            .condition_expression(format!(
                "(attribute_not_exists(notifiedUntil) OR notifiedUntil <= :now \
                 OR notifiedBy = :event) AND {NO_LIVE_LEASE}"
            ))
            .expression_attribute_values(":mark", number(until.0))
            .expression_attribute_values(":event", string(event))
            .expression_attribute_values(":now", number(now.0));
        Ok(match send(update).await? {
            Updated::Done(_) => Written::Done,
            Updated::Rejected(_) => Written::Lost,
        })
    }

    async fn control(&self) -> Result<Control, StoreError> {
        self.item(schema::CONTROL_ITEM)
            .await
            .map(|item| item::control(&item))
    }

    async fn acquire(&self, claim: &Claim, now: Millis) -> Result<Acquired, StoreError> {
        let rate = match claim.rate_full_at {
            Some(_) => ", rateFullAt = :rateFullAt",
            None => "",
        };
        let mut update = self
            .update_control()
            .update_expression(format!(
                "SET #owner = :owner, leaseUntil = :until, messageId = :messageId, \
                 requested = if_not_exists(requested, :zero){rate} \
                 REMOVE notifiedUntil, notifiedBy"
            ))
            .condition_expression(format!(
                "({NO_LIVE_LEASE} OR #owner = :owner) \
                 AND (attribute_not_exists(pausedUntil) OR pausedUntil <= :now)"
            ))
            .return_values(ReturnValue::AllOld)
            .expression_attribute_names("#owner", schema::OWNER)
            .expression_attribute_values(":owner", string(claim.owner))
            .expression_attribute_values(":until", number(claim.until.0))
            .expression_attribute_values(":messageId", string(&claim.message_id))
            .expression_attribute_values(":zero", number(0))
            .expression_attribute_values(":now", number(now.0));
        if let Some(at) = claim.rate_full_at {
            update = update.expression_attribute_values(":rateFullAt", number(at.0));
        }
        let rejected = match send(update).await? {
            Updated::Done(item) => return Ok(Acquired::Ours(item::control(&item))),
            Updated::Rejected(item) => item::control(&item),
        };
        // A live lease of the claim's owner doesn't reject the claim. Only a pause can.
        let others = rejected
            .live_lease(now)
            .filter(|lease| lease.owner != claim.owner);
        match (others, rejected.paused_until) {
            (Some(lease), _) => Ok(Acquired::Held(lease.clone())),
            (None, Some(until)) if until > now => Ok(Acquired::Paused(until)),
            _ => Err(StoreError::Undecodable {
                operation: "UpdateItem",
                attribute: schema::LEASE_UNTIL.to_owned(),
                key: schema::CONTROL_ITEM.to_owned(),
            }),
        }
    }

    async fn renew(&self, renewal: &Renewal) -> Result<Renewed, StoreError> {
        let carried = &renewal.carried;
        let remove = match carried.removals().join(", ") {
            names if names.is_empty() => names,
            names => format!(" REMOVE {names}"),
        };
        let set = carried.assignments();
        let update = self
            .update_control()
            .update_expression(format!("SET leaseUntil = :until{set}{remove}"))
            .condition_expression("#owner = :owner")
            .return_values(ReturnValue::AllNew)
            .expression_attribute_names("#owner", schema::OWNER)
            .expression_attribute_values(":until", number(renewal.until.0))
            .expression_attribute_values(":owner", string(renewal.owner));
        Ok(match send(carried.fill(update)?).await? {
            Updated::Done(item) => Renewed::Ours(item::control(&item)),
            Updated::Rejected(_) => Renewed::Lost,
        })
    }

    async fn release(&self, release: &Release) -> Result<Released, StoreError> {
        let idle = match release.idle_turns {
            IdleTurns::Reset => ":zero",
            IdleTurns::Add => "if_not_exists(idleTurns, :zero) + :one",
            IdleTurns::Keep => "if_not_exists(idleTurns, :zero)",
        };
        let unrequested = match release.if_requested_is {
            Some(_) => " AND requested = :seen",
            None => "",
        };
        let carried = &release.carried;
        let set = carried.assignments();
        let closed: String = carried
            .removals()
            .iter()
            .map(|name| format!(", {name}"))
            .collect();
        let mut update = self
            .update_control()
            .update_expression(format!(
                "SET idleTurns = {idle}{set} \
                 REMOVE #owner, leaseUntil, messageId, notifiedUntil, notifiedBy{closed}"
            ))
            .condition_expression(format!("#owner = :owner{unrequested}"))
            .return_values(ReturnValue::UpdatedNew)
            .expression_attribute_names("#owner", schema::OWNER)
            .expression_attribute_values(":owner", string(release.owner))
            .expression_attribute_values(":zero", number(0));
        update = carried.fill(update)?;
        if release.idle_turns == IdleTurns::Add {
            update = update.expression_attribute_values(":one", number(1));
        }
        if let Some(seen) = release.if_requested_is {
            update = update.expression_attribute_values(":seen", number(seen));
        }
        Ok(match send(update).await? {
            Updated::Done(item) => Released::Done {
                idle_turns: item::idle_turns(&item),
            },
            Updated::Rejected(item) => {
                let control = item::control(&item);
                let owner = control.lease.as_ref().map(|lease| lease.owner);
                match owner == Some(release.owner) {
                    true => Released::Requested(control),
                    false => Released::NotOurs,
                }
            }
        })
    }

    async fn pause(&self, pause: &Pause) -> Result<Written, StoreError> {
        let by = match pause.by {
            Some(_) => ", pausedBy = :by, pausedAt = :at",
            None => " REMOVE pausedBy, pausedAt",
        };
        let mut update = self
            .update_control()
            .update_expression(format!(
                "SET pausedUntil = :until, pauseReason = :reason{by}"
            ))
            .condition_expression("attribute_not_exists(pausedUntil) OR pausedUntil < :until")
            .expression_attribute_values(":until", number(pause.until.0))
            .expression_attribute_values(":reason", string(truncate_error(&pause.reason)));
        if let Some(by) = &pause.by {
            update = update
                .expression_attribute_values(":by", string(&by.name))
                .expression_attribute_values(":at", number(by.at.0));
        }
        Ok(match send(update).await? {
            Updated::Done(_) => Written::Done,
            Updated::Rejected(_) => Written::Lost,
        })
    }
}
