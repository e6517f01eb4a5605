//! Versions: the order of the states of a key.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// First letter of the version for a state with a `sequence`.
const BY_SEQUENCE: char = 's';
/// First letter of the version for a state without a `sequence`, ordered by its `taskCreated`.
const BY_TIME: char = 't';

/// The version of a key's state: a newer state has a higher version. The text has a letter, twenty
/// digits and, for a state ordered by time, a suffix that distinguishes states of the same
/// millisecond. DynamoDB and Rust both compare it byte by byte.
///
/// Versions of different kinds can't be compared: a key either always or never has a sequence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(String);

impl Version {
    /// The version of a state with a `sequence`. Equal numbers identify the same state.
    #[must_use]
    pub fn by_sequence(sequence: u64) -> Self {
        Self(format!("{BY_SEQUENCE}{sequence:020}"))
    }

    /// The version of a state created at `created`. `suffix` orders states of the same millisecond.
    /// It consists of the id of the message or request and the state's index in it.
    #[must_use]
    pub fn by_time(created: Millis, suffix: &str) -> Self {
        let created = created.0.max(0);
        Self(format!("{BY_TIME}{created:020}#{suffix}"))
    }

    /// A version from the table, unchecked.
    #[must_use]
    pub fn from_stored(version: impl Into<String>) -> Self {
        Self(version.into())
    }

    /// The sequence that the producer set, if any.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.0.strip_prefix(BY_SEQUENCE)?.parse().ok()
    }

    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first letter. Versions with the same first letter can be compared.
    #[must_use]
    pub fn kind(&self) -> &str {
        let end = self.0.chars().next().map_or(0, char::len_utf8);
        &self.0[..end]
    }

    /// Whether the two versions can be compared.
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

/// Data of a task that represents one state of a key. The task's id is the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Version of this state.
    pub version: Version,
    /// The key's position in the queue after this state has replaced a pending one.
    pub place: Place,
    /// Time of the write. A pending state that has expired by then is shed, not superseded.
    pub written: Millis,
}

/// The position of a key in the queue after its pending state is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Place {
    /// The key moves to the creation time of the new state: newest first.
    #[default]
    #[serde(rename = "newest-first")]
    Moves,
    /// The key keeps its position: the key that has been pending longest runs first.
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
