//! Operations on a queue, the call that each one makes, and the rules for their results: every row
//! of the "States" table, every control item rule, and every kind of rejection.

use lifo_queue::control::{
    BreakerHold, Claim, GroupChange, LearnedGroups, OperatorLimits, Pause, Release, Renewal,
};
use lifo_queue::store::{Candidate, Redrive, Seen, TakeRequest};
use lifo_queue::task::{
    GroupName, Lease, NewTask, Reclaim, Retention, Return, Settlement, TaskId, Ttl,
};
use lifo_queue::time::{EpochSeconds, Millis};
use sequences::rules;
use uuid::Uuid;

pub use crate::queue::pages::Pass;
pub use crate::queue::tasks::ForeignTask;

/// One operation with all its data, including the time. A sequence therefore keeps its meaning when
/// shrinking removes some of its operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    Insert(NewTask),
    /// A conditional put by a direct writer, which fails if the task exists.
    Foreign(ForeignTask),
    /// A read of all PENDING, SUCCESS or FAILURE tasks, page by page.
    Waiting(Pass),
    /// A read of all TAKEN tasks, page by page.
    Leases(Pass),
    Take(TakeRequest),
    /// A settlement with the retention [`RETENTION`].
    Settle {
        lease: Lease,
        settlement: Settlement,
        now: Millis,
    },
    Return {
        lease: Lease,
        returned: Return,
        now: Millis,
    },
    Reclaim {
        lease: Lease,
        reclaim: Reclaim,
        now: Millis,
    },
    Quarantine {
        seen: Candidate,
        reason: String,
        keep_until: EpochSeconds,
        now: Millis,
    },
    /// A correction to a foreign task's deadline.
    Adopt {
        task: TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    },
    Redrive {
        redrive: Redrive,
        now: Millis,
    },
    Cancel {
        task: TaskId,
        state: Seen,
    },
    Request,
    /// A write of the start marker for a notification.
    Mark {
        event: String,
        until: Millis,
        now: Millis,
    },
    Look,
    Acquire {
        claim: Claim,
        now: Millis,
    },
    Renew(Renewal),
    Release(Release),
    Pause(Pause),
    Resume,
    HoldBreaker(BreakerHold),
    CloseBreaker,
    Limit(OperatorLimits),
    /// An operator's change to a group's override.
    ChangeGroup {
        group: GroupName,
        change: GroupChange,
        now: Millis,
    },
    /// A write of the group state that a processor learned.
    SaveGroups {
        learned: LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    },
    /// A read of the group item.
    LookAtGroups,
}

/// Retention of settled tasks in all sequences.
pub const RETENTION: Retention = Retention {
    success: std::time::Duration::from_secs(60),
    failure: std::time::Duration::from_secs(600),
};

/// Makes the call of an operation with the macro `$call`. The reference and the stores have the same
/// methods. `$other` and `$own` handle the three operations that do not map to a single store method.
macro_rules! call_of {
    ($operation:expr, $call:ident, { $($other:pat => $own:expr),* $(,)? }) => {{
        use $crate::operation::Operation;
        match $operation {
            Operation::Insert(task) => $call!(insert(task)),
            Operation::Take(request) => $call!(take(request)),
            Operation::Settle { lease, settlement, now } => {
                $call!(settle(lease, settlement, &$crate::operation::RETENTION, *now))
            }
            Operation::Return { lease, returned, now } => {
                $call!(return_task(lease, returned, *now))
            }
            Operation::Reclaim { lease, reclaim, now } => $call!(reclaim(lease, reclaim, *now)),
            Operation::Quarantine { seen, reason, keep_until, now } => {
                $call!(quarantine(seen, reason, *keep_until, *now))
            }
            Operation::Adopt { task, seen, ttl } => $call!(adopt_ttl(task, *seen, *ttl)),
            Operation::Redrive { redrive, now } => $call!(redrive(redrive, *now)),
            Operation::Cancel { task, state } => $call!(cancel(task, state)),
            Operation::Request => $call!(request()),
            Operation::Mark { event, until, now } => $call!(mark_notified(event, *until, *now)),
            Operation::Look => $call!(control()),
            Operation::Acquire { claim, now } => $call!(acquire(claim, *now)),
            Operation::Renew(renewal) => $call!(renew(renewal)),
            Operation::Release(release) => $call!(release(release)),
            Operation::Pause(pause) => $call!(pause(pause)),
            Operation::Resume => $call!(resume()),
            Operation::HoldBreaker(hold) => $call!(hold_breaker(hold)),
            Operation::CloseBreaker => $call!(close_breaker()),
            Operation::Limit(limits) => $call!(limit(limits)),
            Operation::ChangeGroup { group, change, now } => {
                $call!(change_group(group, change, *now))
            }
            Operation::SaveGroups { learned, by, seen } => $call!(save_groups(learned, *by, *seen)),
            Operation::LookAtGroups => $call!(groups()),
            $($other => $own,)*
        }
    }};
}
pub(crate) use call_of;

impl Operation {
    #[allow(unused_variables, reason = "a name needs no arguments")]
    pub fn name(&self) -> &'static str {
        macro_rules! name {
            ($method:ident $arguments:tt) => {
                stringify!($method)
            };
        }
        call_of!(self, name, {
            Self::Foreign(_) => "foreign put",
            Self::Waiting(_) => "pending_page",
            Self::Leases(_) => "taken_page",
        })
    }

    pub fn now(&self) -> Option<Millis> {
        match self {
            Self::Take(request) => Some(request.now),
            Self::Waiting(pass) | Self::Leases(pass) => Some(pass.now),
            Self::Settle { now, .. }
            | Self::Return { now, .. }
            | Self::Reclaim { now, .. }
            | Self::Quarantine { now, .. }
            | Self::Redrive { now, .. }
            | Self::Mark { now, .. }
            | Self::Acquire { now, .. }
            | Self::ChangeGroup { now, .. } => Some(*now),
            _ => None,
        }
    }

    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Insert(task) => Some(&task.id),
            Self::Foreign(task) => Some(&task.id),
            Self::Take(request) => Some(&request.candidate.id),
            Self::Settle { lease, .. }
            | Self::Return { lease, .. }
            | Self::Reclaim { lease, .. } => Some(&lease.task),
            Self::Quarantine { seen, .. } => Some(&seen.id),
            Self::Adopt { task, .. } | Self::Cancel { task, .. } => Some(task),
            Self::Redrive { redrive, .. } => Some(&redrive.task),
            _ => None,
        }
    }
}

rules! {
    Create: "create: no task -> PENDING";
    CreateRepeated: "create: the item has our own create token, so it was our put";
    CreateDuplicate: "create: rejected, the id is another's";
    CreateIsAKey: "create: rejected, the id is a key";

    KeyFirst: "key: no task -> PENDING";
    KeyWaiting: "key: PENDING -> PENDING, the older state is superseded";
    KeyExpired: "key: PENDING -> PENDING, the older state had expired, and is shed";
    KeySettled: "key: SUCCESS or FAILURE -> PENDING";
    KeyOvertakes: "key: TAKEN -> TAKEN, the newer state waits for the end of the run";
    KeyOvertakesOvertaken: "key: TAKEN -> TAKEN, the state that waited for the end is superseded";
    KeyRepeated: "key: the item has our own create token, so it was our put";
    KeyDuplicate: "key: rejected, this very state is there";
    KeyOutdated: "key: rejected, a newer state is there";
    KeyNotAKey: "key: rejected, a task without a key is there";
    KeyOtherOrder: "key: rejected, one of the two has a sequence and the other has none";

    Foreign: "another's conditional put: no task -> PENDING";
    ForeignDuplicate: "another's conditional put: rejected, the id is there";

    Waiting: "index: what is PENDING";
    WaitingExpired: "index: what is PENDING, without what expired";
    WaitingBound: "index: what is PENDING and not older than the bound";
    Settled: "index: what is SUCCESS or FAILURE";
    Leases: "index: what is TAKEN, with its leases";

    Take: "take: PENDING -> TAKEN, its deadline kept";
    TakeWithoutTtl: "take: PENDING -> TAKEN, the default deadline for a task without one";
    TakeMilliseconds: "take: PENDING -> TAKEN, a deadline in milliseconds corrected";
    TakeRepeated: "take: the item has our own token, so it was our take";
    TakeGone: "take: lost, no such task";
    TakeNotPending: "take: lost, another process was faster";
    TakeSpent: "take: lost, the lease of this very call was ended";
    TakeTooEarly: "take: lost, its notBefore has not passed";
    TakeExpired: "take: lost, it expired";
    TakeTtlChanged: "take: lost, the deadline is of another kind than the index showed";
    TakeMalformed: "take: rejected, the index shows a deadline that is not a number";

    SettleSuccess: "settle: TAKEN -> SUCCESS by the lease's token";
    SettleFailure: "settle: TAKEN -> FAILURE by the lease's token";
    SettleRepeated: "settle: the item has our token and our target, so it was our settlement";
    SettleOvertaken: "settle: TAKEN -> PENDING by the lease's token, a newer state was written";
    SettleOvertakenRepeated: "settle: the item is a key with our token and PENDING, so our write ended the run";
    SettleGone: "settle: lost, no such task";
    SettleNotTaken: "settle: lost, the task is not TAKEN";
    SettleOtherLease: "settle: lost, the lease is another's";

    Return: "return: TAKEN -> PENDING by the lease's token, the attempt counts";
    ReturnFree: "return: TAKEN -> PENDING by the lease's token, the attempt does not count";
    ReturnUnstarted: "return: TAKEN -> PENDING by the lease's token, neither the attempt nor the start counts";
    ReturnRepeated: "return: the item has our token and PENDING, so it was our return";
    ReturnOvertaken: "return: TAKEN -> PENDING by the lease's token, a newer state was written";
    ReturnGone: "return: lost, no such task";
    ReturnNotTaken: "return: lost, the task is not TAKEN";
    ReturnOtherLease: "return: lost, the lease is another's";

    ReclaimReturn: "sweep: TAKEN -> PENDING, the lease expired";
    ReclaimFail: "sweep: TAKEN -> FAILURE, the lease of the last attempt expired and it ran alone";
    ReclaimOvertaken: "sweep: TAKEN -> PENDING, the lease expired and a newer state was written";
    ReclaimFailOvertaken: "sweep: no FAILURE, since a newer state was written";
    ReclaimCrashes: "sweep: TAKEN -> FAILURE, it crashed too often, and alone the last time";
    ReclaimCrashesOvertaken: "sweep: TAKEN -> FAILURE with the newer state that was written, the key crashed too often";
    ReclaimFewCrashes: "sweep: no FAILURE, since it crashed less often or not alone";
    ReclaimManyCrashes: "sweep: not returned, since it crashed too often";
    ReclaimGone: "sweep: lost, no such task";
    ReclaimNotTaken: "sweep: lost, the task is not TAKEN";
    ReclaimOtherLease: "sweep: lost, the lease differs from the one seen";
    ReclaimTooEarly: "sweep: lost, the lease is live";
    ReclaimInCompany: "sweep: lost, the task did not run alone, so it may only have run with the faulty task";

    Quarantine: "quarantine: PENDING -> FAILURE";
    QuarantineGone: "quarantine: lost, no such task";
    QuarantineNotPending: "quarantine: lost, the task is not PENDING";
    QuarantineChanged: "quarantine: lost, the age or the deadline differs from the one seen";

    AdoptMissing: "adopt: a task without a deadline gets one";
    AdoptMilliseconds: "adopt: a deadline in milliseconds is corrected";
    AdoptChanged: "adopt: lost, the deadline is of another kind than the one seen";
    AdoptNotPending: "adopt: lost, the task is not PENDING or gone";
    AdoptNothing: "adopt: lost, what was seen needs no adoption";

    RedriveFirst: "redrive: FAILURE -> PENDING, attempts from 0; the bound is its age";
    RedriveBeside: "redrive: FAILURE -> PENDING, attempts from 0; the bound covers those before it";
    RedriveGone: "redrive: rejected, no such task";
    RedriveNotFailure: "redrive: rejected, the task is not FAILURE";
    RedriveReplaced: "redrive: rejected, the failed task has another state than the one seen";

    Cancel: "cancel: PENDING -> gone";
    CancelGone: "cancel: rejected, no such task";
    CancelNotPending: "cancel: rejected, the task is not PENDING";
    CancelReplaced: "cancel: rejected, the pending task has another state than the one seen";

    Request: "request: one more wake-up";
    Look: "control: as it is";
    Mark: "mark: a notification is on its way";
    MarkAgain: "mark: its owner may publish again";
    MarkOther: "mark: lost, another's notification is on its way";
    MarkHeld: "mark: lost, a processor is active";

    Acquire: "acquire: the lease was free";
    AcquireExpired: "acquire: another's lease expired";
    AcquireAgain: "acquire: the lease was ours";
    AcquireHeld: "acquire: another's lease is live";
    AcquirePaused: "acquire: the queue is paused";

    Renew: "renew: the lease is ours";
    RenewLost: "renew: lost, the lease is another's or free";

    Release: "release: the lease is ours";
    ReleaseUnrequested: "release: the lease is ours and nothing was requested since";
    ReleaseRequested: "release: rejected, a wake-up was requested since";
    ReleaseNotOurs: "release: rejected, the lease is another's or free";

    Pause: "pause: no task starts";
    PauseShorter: "pause: lost, a longer pause exists";
    Resume: "resume: the pause is over";
    HoldBreaker: "hold_breaker: the last hold counts, and processors' breakers stay";
    CloseBreaker: "close_breaker: no breaker and no hold is left";
    Limit: "limit: the last limits count";

    ChangeGroup: "change_group: the last limit or pause of the group counts";
    ChangeGroupSame: "change_group: the limit or the pause is as it was";
    SaveGroups: "save_groups: the last writer is the one that was seen";
    SaveGroupsAgain: "save_groups: the last writer is the caller";
    SaveGroupsLost: "save_groups: lost, another process wrote since";
    LookAtGroups: "groups: as they are";
}
