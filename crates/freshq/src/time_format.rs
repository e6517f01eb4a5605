//! Formats times as text and as JSON, and parses durations.

use std::time::{Duration, UNIX_EPOCH};

use lifo_queue::time::Millis;

/// Maximum duration that an operator can enter: about a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The last millisecond that RFC 3339 can express: the end of the year 9999.
const LAST: i64 = 253_402_300_799_999;

/// The earliest creation time of a task, in the year 1973. A smaller number is a time in seconds.
pub(crate) const FIRST_MILLIS: Millis = Millis(100_000_000_000);

/// Formats a time in RFC 3339, with milliseconds. A time outside the years 1970 to 9999, which only
/// a direct writer can store, is printed as a number.
pub(crate) fn exact(at: Millis) -> String {
    let since_epoch = u64::try_from(at.0).ok().filter(|_| at.0 <= LAST);
    match since_epoch.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms))) {
        Some(time) => humantime::format_rfc3339_millis(time).to_string(),
        None => format!("{} ms since 1970", at.0),
    }
}

/// Formats a duration in milliseconds if it is below one second, otherwise to the nearest second.
pub(crate) fn rough(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let rounded = match millis {
        0..1_000 => Duration::from_millis(millis),
        _ => Duration::from_secs(millis.saturating_add(500) / 1_000),
    };
    humantime::format_duration(rounded).to_string()
}

/// Formats a run time like [`rough`], but to a tenth of a second if it is below ten seconds.
pub(crate) fn tenths(duration: Duration) -> String {
    match duration.as_millis() {
        1_000..9_950 => format!("{:.1}s", duration.as_secs_f64()),
        _ => rough(duration),
    }
}

/// Formats a rate per second as text. A rare event is not rounded to zero: one per minute is 0.02.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second > 0.0 && per_second < 0.1 {
        true => format!("{per_second:.2}"),
        false => format!("{per_second:.1}"),
    }
}

/// Formats the time until or since `at`: "in 5m" or "5m ago".
pub(crate) fn relative(at: Millis, now: Millis) -> String {
    match at > now {
        true => format!("in {}", rough(at.since(now))),
        false => format!("{} ago", rough(now.since(at))),
    }
}

/// Formats a time as text: the exact time, and the time relative to now.
pub(crate) fn moment(at: Millis, now: Millis) -> String {
    format!("{}, {}", exact(at), relative(at, now))
}

/// Formats the age of something created at `created`: "5m", or "in 5m" if the time is in the
/// future. A time less than a second ahead counts as now.
pub(crate) fn age(created: Millis, now: Millis) -> String {
    match created.since(now) >= Duration::from_secs(1) {
        true => relative(created, now),
        false => rough(now.since(created)),
    }
}

/// Parses a duration such as `30m` or `1h 30m`: at least one second, at most [`LONGEST`].
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write for example 90s, 30m or 2h"))?;
    match duration {
        short if short < Duration::from_secs(1) => Err("it must be at least 1s".to_owned()),
        long if long > LONGEST => Err("it must be at most a year (366days)".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_exact_and_out_of_range_ones_print_milliseconds() {
        assert_eq!(exact(Millis(1_800_000_000_007)), "2027-01-15T08:00:00.007Z");
        assert_eq!(exact(Millis(LAST)), "9999-12-31T23:59:59.999Z");
        for beyond in [-1, LAST + 1, i64::MAX, i64::MIN] {
            assert_eq!(exact(Millis(beyond)), format!("{beyond} ms since 1970"));
        }
    }

    #[test]
    fn durations_and_rates_are_rounded_for_display() {
        assert_eq!(rough(Duration::ZERO), "0s");
        assert_eq!(rough(Duration::from_micros(250_900)), "250ms");
        assert_eq!(rough(Duration::from_millis(3_723_499)), "1h 2m 3s");
        assert_eq!(rough(Duration::from_millis(1_799_999)), "30m");
        assert!(!rough(Duration::MAX).is_empty());
        assert_eq!(tenths(Duration::from_millis(250)), "250ms");
        assert_eq!(tenths(Duration::from_millis(1_540)), "1.5s");
        assert_eq!(tenths(Duration::from_millis(9_949)), "9.9s");
        assert_eq!(tenths(Duration::from_millis(9_950)), "10s");
        assert_eq!(rate(0.0), "0.0");
        assert_eq!(rate(1.0 / 60.0), "0.02");
        assert_eq!(rate(0.1), "0.1");
        assert_eq!(rate(12.34), "12.3");
        assert_eq!(relative(Millis(61_500), Millis(500)), "in 1m 1s");
        assert_eq!(relative(Millis(500), Millis(1_500)), "1s ago");
        assert_eq!(relative(Millis(500), Millis(500)), "0s ago");
        assert_eq!(age(Millis(500), Millis(1_500)), "1s");
        assert_eq!(age(Millis(61_500), Millis(500)), "in 1m 1s");
        assert_eq!(age(Millis(1_499), Millis(500)), "0s");
    }

    #[test]
    fn durations_are_parsed_within_bounds() {
        assert_eq!(parse_duration("30m"), Ok(Duration::from_secs(1_800)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5_400)));
        for (text, why) in [
            ("", "write for example"),
            ("30", "write for example"),
            ("a while", "write for example"),
            ("0s", "at least 1s"),
            ("999ms", "at least 1s"),
            ("2years", "at most a year"),
            ("99999999999999999999h", "write for example"),
        ] {
            let rejected = parse_duration(text).unwrap_err();
            assert!(rejected.contains(why), "{text}: {rejected}");
        }
    }
}
