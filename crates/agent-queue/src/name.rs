//! Names in keys: ids of agents and calls, and values of dimensions.
//!
//! Only a few characters are allowed, for two reasons. The values of criteria form the message
//! group of an SQS FIFO queue, which can have up to 128 letters, digits and punctuation characters
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queue-message-identifiers.html>).
//! In addition, `#` and `*` have a special meaning in keys.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

/// Maximum length of an id, in characters.
pub const MAX_ID: usize = 64;

/// Maximum length of a dimension's value, in characters. Five values and their separators fit into
/// a message group.
pub const MAX_VALUE: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("is empty; give 1 to {max} of A-Z a-z 0-9 _ . + -")]
    Empty {
        /// Maximum length, in characters.
        max: usize,
    },
    #[error("has {length} characters; give 1 to {max}")]
    TooLong {
        length: usize,
        /// Maximum length, in characters.
        max: usize,
    },
    #[error("contains {found:?}; use A-Z a-z 0-9 _ . + - only")]
    Character { found: char },
}

fn check(text: &str, max: usize) -> Result<(), InvalidName> {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || "_.+-".contains(*c);
    if text.is_empty() {
        return Err(InvalidName::Empty { max });
    }
    if let Some(found) = text.chars().find(|c| !allowed(c)) {
        return Err(InvalidName::Character { found });
    }
    if text.len() > max {
        return Err(InvalidName::TooLong {
            length: text.len(),
            max,
        });
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Validates a text.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidName> {
                let text = text.into();
                check(&text, $max)?;
                Ok(Self(text))
            }

            /// Creates a name from a stored text, which was validated before it was written.
            pub(crate) fn from_stored(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::new(text.as_str()).map_err(|fault| {
                    de::Error::custom(format_args!("{:?} {fault}", text))
                })
            }
        }
    };
}

name!(
    /// An agent's unique id. Unlike the id, an agent's name can change and need not be unique.
    AgentId,
    MAX_ID
);
name!(
    /// A call's unique id, which is also its permanent deduplication key.
    CallId,
    MAX_ID
);
name!(
    /// A value of a dimension, such as a language or a gender.
    Value,
    MAX_VALUE
);

impl AgentId {
    pub fn fresh() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }
}

impl CallId {
    pub fn fresh() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_name_is_rejected_with_the_reason() {
        assert_eq!(Value::new(""), Err(InvalidName::Empty { max: 24 }));
        assert_eq!(
            Value::new("a#b"),
            Err(InvalidName::Character { found: '#' })
        );
        assert_eq!(Value::new("*"), Err(InvalidName::Character { found: '*' }));
        let long = "x".repeat(25);
        let too_long = InvalidName::TooLong {
            length: 25,
            max: 24,
        };
        assert_eq!(Value::new(long.as_str()), Err(too_long));
        assert!(AgentId::new(long).is_ok());
        assert!(Value::new("pt-BR").is_ok());
    }

    #[test]
    fn invalid_json_name_error_quotes_text_and_remedy() {
        let error = serde_json::from_str::<CallId>("\"a b\"").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("\"a b\" contains ' '; use A-Z"),
            "{error}"
        );
        assert!(CallId::new(CallId::fresh().as_str()).is_ok());
    }
}
