//! The checks.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Topics,
    Writes,
    WakeUp,
    Created,
    Index,
    Order,
    Settled,
    Deleted,
    Doctor,
    Alarms,
}

impl Check {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Topics => "topics",
            Self::Writes => "writes",
            Self::WakeUp => "wake-up",
            Self::Created => "creation",
            Self::Index => "index",
            Self::Order => "newest first",
            Self::Settled => "success",
            Self::Deleted => "deletion",
            Self::Doctor => "doctor",
            Self::Alarms => "alarms",
        }
    }
}

/// The result of a check, with the measurement or the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok(String),
    /// The check did not fail, but did not show what it checks either.
    NotShown(String),
    Failed(String),
}
