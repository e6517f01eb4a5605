//! What processors know about the downstream and leave for the next processor.

use serde::{Deserialize, Serialize};

use crate::observed::Observed;
use crate::time::Millis;

/// State that a processor leaves for the next one. Each renewal and release of the processor lease
/// writes it to the control item. If a processor crashes, the state of its last renewal remains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// The circuit breaker; `None` while it is closed.
    pub breaker: Option<OpenBreaker>,
    /// Other facts about the downstream.
    pub health: Health,
    /// Start of the overload; `None` without overload.
    pub overloaded_since: Option<Millis>,
    /// Observations, for operators and ingest admission.
    pub observed: Observed,
    /// Time at which the rate limit's bucket is full again. A renewal sets it only for a limit that
    /// an operator changed after the claim, as in a [`Claim`](super::Claim). `None` leaves the
    /// stored time unchanged.
    pub rate_full_at: Option<Millis>,
}

/// An open circuit breaker. While it is open, only probes start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBreaker {
    /// Time at which the breaker opened.
    pub since: Millis,
    /// Number of failed probes since the breaker opened.
    pub probes: u32,
}

/// Facts about a downstream that outlive a turn, besides the open circuit breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Health {
    /// Number of consecutive runs that ended without a result.
    pub without_result: u32,
    /// Why the last of them had no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// End of the wait that the last of them asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_until: Option<Millis>,
    /// Time of the next probe while the circuit breaker is open, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_probe: Option<Millis>,
    /// Limit on concurrent tasks, if busy or slow responses lowered it below the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u16>,
    /// The limit at which the downstream was last too busy. The limit rises slowly near it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_limit: Option<u16>,
}

impl Health {
    /// Whether nothing is known that would change a start.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        *self == Self::default()
    }
}

impl Cause {
    /// The name in log lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Busy => "busy",
            Self::Rejecting => "rejecting",
        }
    }

    /// The downstream's state, as the end of a sentence.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Unavailable => "the downstream is unavailable",
            Self::Busy => "the downstream is busy",
            Self::Rejecting => "the downstream rejects the queue's requests",
        }
    }
}

/// Why a run ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// No response, or an error of the downstream.
    Unavailable,
    /// The downstream cannot take more work now.
    Busy,
    /// The downstream rejects the queue, for example its credentials.
    Rejecting,
}
