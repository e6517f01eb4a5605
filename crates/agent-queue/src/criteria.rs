//! The criteria of a call, and the names of the queues that match them.

use std::fmt;

use crate::name::Value;
use crate::profile::Profile;

/// Separator between values in keys. No value contains it.
const SEPARATOR: char = '#';

/// Placeholder for a dimension that the criteria omit. No value contains it.
const ANY: &str = "*";

/// The value that a call requests in each dimension, or any value. The canonical text lists the
/// values in the order of the dimensions, separated by `#`, with `*` for any value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Criteria(Vec<Option<Value>>);

impl Criteria {
    /// Creates criteria from validated values
    /// ([`Dimensions::criteria`](crate::dimension::Dimensions::criteria)).
    pub(crate) fn new(wanted: Vec<Option<Value>>) -> Self {
        Self(wanted)
    }

    /// Parses the canonical text as stored in the table.
    pub(crate) fn from_stored(text: &str) -> Self {
        let wanted = |part| (part != ANY).then(|| Value::from_stored(part));
        Self(text.split(SEPARATOR).map(wanted).collect())
    }

    /// Returns the only matching queue, or `None` if a dimension was omitted.
    pub fn exact(&self) -> Option<QueueName> {
        let values: Option<Vec<_>> = self.0.iter().map(Option::as_ref).collect();
        values.map(QueueName::new)
    }

    pub fn fits(&self, queue: &QueueName) -> bool {
        let mut values = queue.values();
        let fits = self.0.iter().all(|wanted| {
            let value = values.next();
            wanted
                .as_ref()
                .is_none_or(|wanted| value == Some(wanted.as_str()))
        });
        fits && values.next().is_none()
    }

    pub fn fits_profile(&self, profile: &Profile) -> bool {
        self.0.len() == profile.values().len()
            && std::iter::zip(&self.0, profile.values()).all(|(wanted, values)| {
                wanted.as_ref().is_none_or(|wanted| values.contains(wanted))
            })
    }
}

impl fmt::Display for Criteria {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, wanted) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "#" };
            let wanted = wanted.as_ref().map_or(ANY, Value::as_str);
            write!(f, "{separator}{wanted}")?;
        }
        Ok(())
    }
}

/// A queue's name: `Q#` and one value per dimension, for example `Q#Spanish#M`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueName(String);

impl QueueName {
    pub(crate) const PREFIX: &str = "Q#";

    /// Creates the name of the queue for agents with these values, one per dimension.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let values: Vec<_> = values.into_iter().map(Value::as_str).collect();
        Self(format!("{}{}", Self::PREFIX, values.join("#")))
    }

    pub(crate) fn from_stored(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn values(&self) -> impl Iterator<Item = &str> {
        let values = self.0.strip_prefix(Self::PREFIX).unwrap_or_default();
        values.split(SEPARATOR)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn value(text: &str) -> Value {
        Value::new(text).unwrap()
    }

    #[test]
    fn criteria_round_trip_through_their_text() {
        for text in ["Spanish#M", "*#M", "Spanish#*", "*#*", "*"] {
            assert_eq!(Criteria::from_stored(text).to_string(), text);
        }
    }

    #[test]
    fn criteria_match_a_queue_with_all_requested_values() {
        let queue = QueueName::new([&value("Spanish"), &value("M")]);
        let fits = |text| Criteria::from_stored(text).fits(&queue);
        for text in ["Spanish#M", "*#M", "Spanish#*", "*#*"] {
            assert!(fits(text), "{text}");
        }
        for text in ["English#M", "Spanish#F", "*#F", "*", "Spanish#M#x"] {
            assert!(!fits(text), "{text}");
        }
        assert_eq!(Criteria::from_stored("Spanish#M").exact(), Some(queue));
        assert_eq!(Criteria::from_stored("*#M").exact(), None);
    }

    #[test]
    fn profile_matches_the_same_criteria_as_its_queues() {
        let several = BTreeSet::from([value("Spanish"), value("English")]);
        let profile = Profile::new(vec![several, BTreeSet::from([value("M")])]);
        let fits = |text| Criteria::from_stored(text).fits_profile(&profile);
        for text in ["Spanish#M", "English#M", "*#M", "English#*", "*#*"] {
            assert!(fits(text), "{text}");
        }
        for text in ["French#M", "Spanish#F", "*", "*#M#x"] {
            assert!(!fits(text), "{text}");
        }
    }
}
