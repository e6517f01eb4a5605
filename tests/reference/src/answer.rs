//! A queue's answers to operations.

use lifo_queue::control::{Acquired, Control, GroupChanged, GroupStates, Released, Renewed};
use lifo_queue::store::{
    Cancelled, Candidate, Inserted, Redriven, StandingLease, TakeOutcome, Written,
};

macro_rules! answers {
    ($(#[$doc:meta])* $($kind:ident($Answer:ty),)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum Answer {
            $($kind($Answer),)*
            Nothing,
        }

        $(impl From<$Answer> for Answer {
            fn from(answer: $Answer) -> Self {
                Self::$kind(answer)
            }
        })*
    };
}

answers! {
    /// A queue's answer, without the parts that the specification leaves open: the rejection text,
    /// and the order of tasks created in the same millisecond.
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
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl Answer {
    /// Whether the operation was rejected, because another process was faster or the state of the
    /// task does not match.
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

    /// Removes the reason for a rejected take, which each store words differently, and the lease in
    /// the item before a claim.
    #[must_use]
    pub fn compared(mut self) -> Self {
        match &mut self {
            Self::Taken(TakeOutcome::Rejected { reason }) => reason.clear(),
            Self::Acquired(Acquired::Ours(before)) => before.lease = None,
            _ => {}
        }
        self
    }
}
