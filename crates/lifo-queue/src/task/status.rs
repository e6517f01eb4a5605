//! The task statuses and their text in the table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The four states a task can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStatus {
    /// The task is waiting for a processor.
    Pending,
    /// A processor holds a lease on the task.
    Taken,
    /// A run succeeded.
    Success,
    /// The task failed permanently.
    Failure,
}

impl TaskStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Taken, Self::Success, Self::Failure];

    /// The status's name in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Taken => "TAKEN",
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
        }
    }

    /// Whether the task ended. Only a redrive after FAILURE or a newer state of the key runs it
    /// again.
    #[must_use]
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value of `taskStatus`: a status and a shard, `STATUS` for shard 0 and `STATUS#n` for others.
/// Only shard 0 is written today. With this format, the index partitions can be sharded
/// later without a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusKey {
    /// The status.
    pub status: TaskStatus,
    /// The index partition within the status.
    pub shard: u16,
}

impl From<TaskStatus> for StatusKey {
    fn from(status: TaskStatus) -> Self {
        Self { status, shard: 0 }
    }
}

impl fmt::Display for StatusKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shard {
            0 => f.write_str(self.status.name()),
            shard => write!(f, "{}#{shard}", self.status.name()),
        }
    }
}

/// The text is not a value of `taskStatus`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a task status; use PENDING, TAKEN, SUCCESS or FAILURE, optionally followed by '#shard'"
)]
pub struct UnknownStatus(pub String);

impl FromStr for StatusKey {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownStatus(text.to_owned());
        let (name, shard) = match text.split_once('#') {
            None => (text, 0),
            Some((name, digits)) => {
                let canonical =
                    !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
                let shard = digits.parse::<u16>().ok().filter(|_| canonical);
                (name, shard.ok_or_else(unknown)?)
            }
        };
        let status = TaskStatus::ALL
            .into_iter()
            .find(|status| status.name() == name);
        Ok(Self {
            status: status.ok_or_else(unknown)?,
            shard,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_codec_round_trips_and_rejects_noncanonical_text() {
        for status in TaskStatus::ALL {
            for shard in [0, 1, 9, u16::MAX] {
                let key = StatusKey { status, shard };
                assert_eq!(key.to_string().parse(), Ok(key));
            }
            assert_eq!(StatusKey::from(status).to_string(), status.name());
        }
        for text in [
            "",
            "pending",
            "PENDING#",
            "PENDING#0",
            "PENDING#01",
            "PENDING#+1",
            "PENDING#65536",
        ] {
            assert!(text.parse::<StatusKey>().is_err(), "{text}");
        }
    }
}
