//! Which state of a key is newer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// Begins the version of a state whose producer gave a `sequence`.
const BY_SEQUENCE: char = 's';
/// Begins the version of a state that is ordered by its `taskCreated`.
const BY_TIME: char = 't';

/// The order among the states of one key: a newer state has a greater version. Written so that
/// DynamoDB and Rust compare it alike, byte by byte: a letter, twenty digits, and for a state
/// that is ordered by time a suffix that tells states of the same millisecond apart.
///
/// Versions of the two kinds have no order between them: a key has a sequence always or never.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Version(String);

impl Version {
    /// The version of a state that its producer numbers. The same number is the same state.
    #[must_use]
    pub fn by_sequence(sequence: u64) -> Self {
        Self(format!("{BY_SEQUENCE}{sequence:020}"))
    }

    /// The version of a state of this moment. `suffix` decides between states of the same
    /// millisecond: the message's or the request's id, and the place in it.
    #[must_use]
    pub fn by_time(created: Millis, suffix: &str) -> Self {
        let created = created.0.max(0);
        Self(format!("{BY_TIME}{created:020}#{suffix}"))
    }

    /// A version as it stands in the table.
    #[must_use]
    pub fn from_stored(version: impl Into<String>) -> Self {
        Self(version.into())
    }

    /// The sequence that the producer gave, if it gave one.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.0.strip_prefix(BY_SEQUENCE)?.parse().ok()
    }

    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// With what all versions begin that this one can be compared with.
    #[must_use]
    pub fn kind(&self) -> &str {
        let end = self.0.chars().next().map_or(0, char::len_utf8);
        &self.0[..end]
    }

    /// Whether the two have an order between them.
    #[must_use]
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What makes a task the state of a key. The task's id is the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Which state this is.
    pub version: Version,
    /// Where the key stands in the queue once this state has replaced a waiting one.
    pub place: Place,
    /// When it is written: a waiting state that has expired by then is shed, not superseded.
    pub written: Millis,
}

/// Where a key stands in the queue whose waiting state is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Place {
    /// It moves to the new state's moment: newest first.
    #[default]
    #[serde(rename = "newest-first")]
    Moves,
    /// It keeps its place: the key that has waited longest comes first.
    #[serde(rename = "oldest-key-first")]
    Stays,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_one_kind_compare_as_numbers_and_then_by_suffix() {
        let sequence = Version::by_sequence;
        assert!(sequence(9) < sequence(10) && sequence(10) < sequence(u64::MAX));
        let time = |at, suffix| Version::by_time(Millis(at), suffix);
        assert!(time(999, "z") < time(1_000, "a"));
        assert!(time(1_000, "m#00002") < time(1_000, "m#00010"));
        assert_eq!(sequence(7).sequence(), Some(7));
        assert_eq!(time(7, "m").sequence(), None);
        assert!(sequence(1).is_comparable(&sequence(2)));
        assert!(!sequence(1).is_comparable(&time(1, "a")));
        assert_eq!(Version::from_stored("").kind(), "");
    }
}
