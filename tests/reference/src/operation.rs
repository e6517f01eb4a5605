//! Operations on a queue, and answers.

use lifo_queue::control::{
    Acquired, BreakerHold, Claim, Control, GroupChange, GroupChanged, GroupStates, LearnedGroups,
    OperatorLimits, Pause, Release, Released, Renewal, Renewed,
};
use lifo_queue::store::memory::Record;
use lifo_queue::store::{
    Cancelled, Candidate, Inserted, Order, Redrive, Redriven, StandingLease, TakeOutcome,
    TakeRequest, Written,
};
use lifo_queue::task::{
    GroupName, Lease, NewTask, Reclaim, Retention, Return, Settlement, TaskId, TaskStatus, Ttl,
};
use lifo_queue::time::{EpochSeconds, Millis};
use uuid::Uuid;

/// One operation with all its data, including the time. So a sequence keeps its meaning when
/// shrinking removes some of its operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    Insert(NewTask),
    /// A put by a direct writer, on condition that no such task exists.
    Foreign(ForeignTask),
    /// A read of all PENDING, SUCCESS or FAILURE tasks, page by page.
    Waiting(Pass),
    /// A read of all TAKEN tasks, page by page.
    Leases(Pass),
    Take(TakeRequest),
    /// A settlement; the retention is [`RETENTION`].
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
    /// A correction of a foreign task's deadline.
    Adopt {
        task: TaskId,
        seen: Ttl,
        ttl: EpochSeconds,
    },
    Redrive {
        redrive: Redrive,
        now: Millis,
    },
    Cancel(TaskId),
    Request,
    /// A start marker for a notification.
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
    /// An operator changes the override of a group.
    ChangeGroup {
        group: GroupName,
        change: GroupChange,
        now: Millis,
    },
    /// A processor writes what it learned about groups.
    Learn {
        learned: LearnedGroups,
        by: Uuid,
        seen: Option<Uuid>,
    },
    /// A read of the item of groups.
    LookAtGroups,
}

/// Time for which settled tasks are kept, in every sequence.
pub const RETENTION: Retention = Retention {
    success: std::time::Duration::from_secs(60),
    failure: std::time::Duration::from_secs(600),
};

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTask {
    pub id: TaskId,
    pub created: Millis,
    /// Its deadline, which may be missing or malformed.
    pub ttl: Ttl,
}

impl ForeignTask {
    pub fn record(&self) -> Record {
        Record::pending(self.created, self.ttl)
    }
}

/// A read of the index from one end to the other end.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    pub status: TaskStatus,
    /// The end at which it starts.
    pub order: Order,
    /// The oldest creation time, if there is a bound.
    pub created_from: Option<Millis>,
    /// The sizes of the pages, repeated in this order.
    pub limits: Vec<u16>,
    /// The time for the omission of expired tasks.
    pub now: Millis,
}

/// A queue's answer, without the parts that the specification leaves open: the text of a rejection,
/// and the order of tasks created in the same millisecond.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Inserted(Inserted),
    Waiting(Vec<Candidate>),
    Leases(Vec<StandingLease>),
    Taken(TakeOutcome),
    Written(Written),
    Redriven(Redriven),
    Cancelled(Cancelled),
    Control(Control),
    Acquired(Acquired),
    Renewed(Renewed),
    Released(Released),
    GroupChanged(GroupChanged),
    Groups(GroupStates),
    Nothing,
}

impl Answer {
    /// Whether the operation was rejected: another process was faster, or the task has another
    /// state.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Inserted(answer) => !matches!(answer, Inserted::Created | Inserted::Replaced(_)),
            Self::Taken(answer) => !matches!(answer, TakeOutcome::Won(_)),
            Self::Written(answer) => *answer == Written::Lost,
            Self::Redriven(answer) => *answer != Redriven::Done,
            Self::Cancelled(answer) => *answer != Cancelled::Done,
            Self::Acquired(answer) => !matches!(answer, Acquired::Ours(_)),
            Self::Renewed(answer) => *answer == Renewed::Lost,
            Self::Released(answer) => !matches!(answer, Released::Done { .. }),
            Self::GroupChanged(answer) => *answer != GroupChanged::Done,
            Self::Waiting(_)
            | Self::Leases(_)
            | Self::Control(_)
            | Self::Groups(_)
            | Self::Nothing => false,
        }
    }
}

impl Operation {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Insert(_) => "insert",
            Self::Foreign(_) => "foreign put",
            Self::Waiting(_) => "pending_page",
            Self::Leases(_) => "taken_page",
            Self::Take(_) => "take",
            Self::Settle { .. } => "settle",
            Self::Return { .. } => "return_task",
            Self::Reclaim { .. } => "reclaim",
            Self::Quarantine { .. } => "quarantine",
            Self::Adopt { .. } => "adopt_ttl",
            Self::Redrive { .. } => "redrive",
            Self::Cancel(_) => "cancel",
            Self::Request => "request",
            Self::Mark { .. } => "mark_notified",
            Self::Look => "control",
            Self::Acquire { .. } => "acquire",
            Self::Renew(_) => "renew",
            Self::Release(_) => "release",
            Self::Pause(_) => "pause",
            Self::Resume => "resume",
            Self::HoldBreaker(_) => "hold_breaker",
            Self::CloseBreaker => "close_breaker",
            Self::Limit(_) => "limit",
            Self::ChangeGroup { .. } => "change_group",
            Self::Learn { .. } => "learn_groups",
            Self::LookAtGroups => "groups",
        }
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
            Self::Adopt { task, .. } | Self::Cancel(task) => Some(task),
            Self::Redrive { redrive, .. } => Some(&redrive.task),
            _ => None,
        }
    }
}
