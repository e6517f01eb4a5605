//! The modes of the measurement.

/// An arrangement of calls and agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    /// 200 agents are queued, and 150 calls arrive. A batch can contain calls with any criteria.
    Unchanged,
    /// Like `Unchanged`, but with 2,000 agents and 1,500 calls.
    Large,
    /// Calls arrive indefinitely, and each agent is queued again 50 ms after its assignment.
    Steady,
    /// As with SQS FIFO queues, calls with the same criteria are in only one batch at a time.
    Routed,
    /// Calls are already pending when the agents are queued.
    CallsWait,
    /// Like `Unchanged`, but half of the conflicts reject both transactions.
    BothRejected,
    /// Like `Large`, but half of the conflicts reject both transactions.
    BothRejectedLarge,
}

impl Mode {
    pub(super) const ALL: [Self; 7] = [
        Self::Unchanged,
        Self::Large,
        Self::Steady,
        Self::Routed,
        Self::CallsWait,
        Self::BothRejected,
        Self::BothRejectedLarge,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Large => "large",
            Self::Steady => "steady",
            Self::Routed => "routed",
            Self::CallsWait => "calls_wait",
            Self::BothRejected => "both_rejected",
            Self::BothRejectedLarge => "both_rejected_large",
        }
    }

    pub(super) fn agents(self) -> usize {
        match self {
            Self::Unchanged | Self::BothRejected => 200,
            Self::CallsWait => 500,
            Self::Large | Self::Steady | Self::Routed | Self::BothRejectedLarge => 2_000,
        }
    }

    /// Number of calls. In `Steady`, these calls are repeated.
    pub(super) fn calls(self) -> usize {
        match self {
            Self::Unchanged | Self::BothRejected => 150,
            Self::CallsWait => 600,
            Self::Large | Self::Steady | Self::Routed | Self::BothRejectedLarge => 1_500,
        }
    }

    /// Percentage of conflicts that reject both transactions.
    pub(super) fn both_rejected(self) -> u8 {
        match self {
            Self::BothRejected | Self::BothRejectedLarge => 50,
            _ => 0,
        }
    }

    /// Whether runs are so long that few repetitions are enough.
    pub(super) fn is_large(self) -> bool {
        !matches!(self, Self::Unchanged | Self::BothRejected)
    }

    /// Whether write and read units are measured with this number of processes.
    pub(super) fn has_units(self, matchers: usize) -> bool {
        matchers == 1 && matches!(self, Self::Unchanged | Self::Routed)
    }

    /// Whether the mode is also measured with the write limit.
    pub(super) fn is_limited(self) -> bool {
        matches!(self, Self::Unchanged | Self::Large)
    }
}
