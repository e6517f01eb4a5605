//! `Retry-After`: the wait that a busy downstream requests.

use std::time::{Duration, SystemTime};

/// Maximum wait that is honored, for any runner. A task expires after one hour by default. Even if
/// the downstream requests a longer wait, the queue calls it again before the task expires.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(15 * 60);

/// Parses a `Retry-After` value: whole seconds, or a date in any of the three HTTP formats
/// (<https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>). A date in the past is a wait of zero.
/// A longer wait is capped at [`MAX_RETRY_AFTER`]. Returns `None` for any other text, so that the
/// queue chooses the wait.
pub(super) fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // A number that does not fit into 64 bits is still a long wait.
        let seconds = value.parse().unwrap_or(u64::MAX);
        return Some(cap(Duration::from_secs(seconds)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(cap(date.duration_since(now).unwrap_or(Duration::ZERO)))
}

/// Limits a wait to [`MAX_RETRY_AFTER`].
pub(super) fn cap(wait: Duration) -> Duration {
    wait.min(MAX_RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_seconds_and_dates_are_parsed_and_capped() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let read = |value| parse(value, now).map(|wait| wait.as_secs());
        let cases = [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("900", Some(900)),
            ("901", Some(900)),
            ("99999999999999999999999", Some(900)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30)),
            ("Sun Nov  6 08:50:07 1994", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("Mon, 07 Nov 1994 08:49:37 GMT", Some(900)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(read(value), seconds, "{value:?}");
        }
    }
}
