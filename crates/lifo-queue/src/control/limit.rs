//! Operators' limits on starts, in addition to the limits in the settings.

use std::num::NonZeroU16;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Author;
use crate::settings::{nanos, positive_nanos};
use crate::time::Millis;

/// The operators' limits, in their stored form. Processors do not change them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorLimits {
    /// The limit on the whole queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<OperatorLimit>,
}

/// A temporary limit set by an operator. For the whole queue, it can only lower the setting: a
/// higher value has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorLimit {
    /// Maximum number of concurrent tasks; `None` keeps the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<NonZeroU16>,
    /// The rate of starts; `None` keeps the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<OperatorRate>,
    /// End of the limit.
    pub until: Millis,
    /// The reason, for operators.
    pub reason: String,
    /// The author and start time of the limit.
    pub by: Author,
}

/// An operator's limit on the rate of starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorRate {
    /// Average time between two starts; not zero. Stored in nanoseconds.
    #[serde(
        rename = "intervalNanos",
        serialize_with = "nanos",
        deserialize_with = "positive_nanos"
    )]
    pub interval: Duration,
}

impl OperatorRate {
    /// Starts per second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.interval.as_secs_f64().recip()
    }
}
