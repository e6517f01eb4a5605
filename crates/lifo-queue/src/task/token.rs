//! The value of `leaseToken`.

use std::fmt;

use uuid::Uuid;

use super::LeaseToken;

/// Precedes each mark.
const SEPARATOR: char = '#';

/// The mark of [`TokenText::lease_expired`].
const SUSPECT: &str = "suspect";

/// The value of `leaseToken`: the token of the current or last lease, then marks, as in
/// `TOKEN#suspect`. This attribute holds the marks because it is projected into the index, whose
/// projection can't be changed. Readers ignore unknown marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenText {
    /// The token; `None` before the first lease, after the sweep ended a lease, or if a direct
    /// writer wrote the attribute.
    pub token: Option<LeaseToken>,
    /// Whether a lease of the task expired and no run has settled the task since.
    pub lease_expired: bool,
}

impl TokenText {
    /// The value after a lease of the task expired: the mark without a token.
    pub(crate) const SUSPECT: Self = Self {
        token: None,
        lease_expired: true,
    };
}

impl From<&str> for TokenText {
    fn from(text: &str) -> Self {
        let mut parts = text.split(SEPARATOR);
        let token = parts.next().and_then(|token| Uuid::parse_str(token).ok());
        Self {
            token: token.map(LeaseToken),
            lease_expired: parts.any(|mark| mark == SUSPECT),
        }
    }
}

impl fmt::Display for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(token) = self.token {
            token.fmt(f)?;
        }
        match self.lease_expired {
            true => write!(f, "{SEPARATOR}{SUSPECT}"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_mark_round_trip_and_unknown_marks_are_ignored() {
        for token in [None, Some(LeaseToken::fresh())] {
            for lease_expired in [false, true] {
                let text = TokenText {
                    token,
                    lease_expired,
                };
                assert_eq!(TokenText::from(text.to_string().as_str()), text);
            }
        }
        let token = LeaseToken::fresh();
        let marked = TokenText::from(format!("{token}#later#suspect").as_str());
        assert_eq!((marked.token, marked.lease_expired), (Some(token), true));
        let plain = TokenText::from(token.to_string().as_str());
        assert_eq!((plain.token, plain.lease_expired), (Some(token), false));
        assert_eq!(TokenText::from("another writer's"), TokenText::default());
    }
}
