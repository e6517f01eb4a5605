//! `Retry-After`: the wait that a busy downstream requests.

use std::time::{Duration, SystemTime};

/// Maximum wait that is honored, for any runner. A task expires after one hour by default. Even if
/// the downstream requests a longer wait, the queue calls it again before the task expires.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(15 * 60);

/// Parses a `Retry-After` value: seconds, or a date in any of the three HTTP formats
/// (<https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>). A fraction of a second, which the RFC
/// does not allow but servers send, is rounded up. A date in the past or a negative number is a
/// wait of zero. A longer wait is capped at [`MAX_RETRY_AFTER`]. Returns `None` for any other text,
/// so that the queue chooses the wait.
pub(super) fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    // This excludes the texts "inf" and "nan".
    if value
        .bytes()
        .all(|b| b.is_ascii_digit() || b"+-.".contains(&b))
    {
        let seconds: f64 = value.parse().ok()?;
        return Some(from_seconds(seconds.ceil()));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(cap(date.duration_since(now).unwrap_or(Duration::ZERO)))
}

/// Converts seconds to a wait from zero to [`MAX_RETRY_AFTER`].
pub(super) fn from_seconds(seconds: f64) -> Duration {
    // A number that does not fit into a duration is still a long wait.
    cap(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

/// Limits a wait to [`MAX_RETRY_AFTER`].
fn cap(wait: Duration) -> Duration {
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
            ("30.0", Some(30)),
            ("3.5", Some(4)),
            ("89.955", Some(90)),
            ("0.001", Some(1)),
            ("900.1", Some(900)),
            ("-1", Some(0)),
            ("-0.4", Some(0)),
            ("soon", None),
            ("inf", None),
            ("nan", None),
            ("1.2.3", None),
            ("-", None),
            ("1e3", None),
            ("", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(read(value), seconds, "{value:?}");
        }
    }
}
