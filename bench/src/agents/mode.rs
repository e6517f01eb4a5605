//! What is measured.

/// A way to bring calls and agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    /// 200 agents are queued, and 150 calls of any criteria come in any batch.
    Unchanged,
    /// The same with 2,000 agents and 1,500 calls.
    Large,
    /// Calls without end, and each agent is queued again 50 ms after the assignment.
    Steady,
    /// As SQS delivers the call queue: one batch at a time has the calls of one criteria.
    Routed,
    /// Calls wait, and agents are queued.
    CallsWait,
    /// As `Unchanged`, but every second conflict rejects both transactions.
    BothRefused,
    /// As `Large`, but every second conflict rejects both transactions.
    BothRefusedLarge,
}

impl Mode {
    pub(super) const ALL: [Self; 7] = [
        Self::Unchanged,
        Self::Large,
        Self::Steady,
        Self::Routed,
        Self::CallsWait,
        Self::BothRefused,
        Self::BothRefusedLarge,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Large => "large",
            Self::Steady => "steady",
            Self::Routed => "routed",
            Self::CallsWait => "calls_wait",
            Self::BothRefused => "both_refused",
            Self::BothRefusedLarge => "both_refused_large",
        }
    }

    pub(super) fn agents(self) -> usize {
        match self {
            Self::Unchanged | Self::BothRefused => 200,
            Self::CallsWait => 500,
            Self::Large | Self::Steady | Self::Routed | Self::BothRefusedLarge => 2_000,
        }
    }

    /// Calls in all; in `Steady` those that are drawn over and over.
    pub(super) fn calls(self) -> usize {
        match self {
            Self::Unchanged | Self::BothRefused => 150,
            Self::CallsWait => 600,
            Self::Large | Self::Steady | Self::Routed | Self::BothRefusedLarge => 1_500,
        }
    }

    /// Of a hundred conflicts, how many reject both transactions.
    pub(super) fn both_refused(self) -> u8 {
        match self {
            Self::BothRefused | Self::BothRefusedLarge => 50,
            _ => 0,
        }
    }

    /// Runs that are long enough to need no repetition.
    pub(super) fn is_large(self) -> bool {
        !matches!(self, Self::Unchanged | Self::BothRefused)
    }

    /// Whether the units are measured with this number of processes.
    pub(super) fn has_units(self, matchers: usize) -> bool {
        match self {
            Self::Unchanged | Self::BothRefused | Self::CallsWait => true,
            Self::Routed => matchers == 1,
            Self::Large | Self::Steady | Self::BothRefusedLarge => false,
        }
    }

    /// Whether the published sample knows such a mode: it has no line of calls, no call queue
    /// and no end of a call.
    pub(super) fn is_published(self) -> bool {
        matches!(self, Self::Unchanged | Self::Large | Self::BothRefused)
    }
}
