//! Processors' observations for operators: the number of tasks that ended in the last minute, the
//! duration of runs, and the downstream's most recent response that was not a success.
//!
//! Each renewal and release of the processor lease writes the observations to the control item.
//! Only ingest admission depends on them, through the capacity.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::task::TaskId;
use crate::time::Millis;

/// Time window in which ended tasks are counted.
pub const WINDOW: Duration = Duration::from_secs(60);

/// Duration of one interval of [`Ended`], in milliseconds.
const INTERVAL: i64 = 10_000;

/// Maximum number of characters kept from a response.
const MAX_RESPONSE: usize = 200;

/// Observations by a queue's processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Observed {
    /// Tasks that succeeded or failed in the last minute.
    pub ended: Ended,
    /// Median duration of the most recent runs that succeeded or failed, in milliseconds.
    pub median_run_ms: Option<u64>,
    /// The longest run that succeeded or failed in the last two minutes.
    pub longest_run: Option<LongestRun>,
    /// The limits on starts from the settings of the last turn.
    pub limits: Option<LimitSettings>,
    /// Whether the queue measures overload. Otherwise, it is unknown whether the queue is overloaded.
    pub measures_overload: bool,
    /// The downstream's most recent response that was not a success.
    pub last_response: Option<LastResponse>,
    /// The downstream's capacity, if the ingest requires it and no slot was free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

/// The longest of the runs that ended at about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LongestRun {
    /// Time at which the run ended.
    pub at: Millis,
    /// Duration of the run, in milliseconds.
    pub ms: u64,
}

impl LongestRun {
    /// Time for which the run counts. Slow tasks that start together also end together. Until the
    /// next slow runs end, only short runs end.
    const VALID: Duration = Duration::from_secs(120);

    /// Returns the longer of the run `ended` and the longest run so far, if that one counts.
    pub(crate) fn after(left: Option<Self>, ended: Self) -> Self {
        let still = |left: &Self| left.ms > ended.ms && ended.at.since(left.at) < Self::VALID;
        left.filter(still).unwrap_or(ended)
    }
}

/// The settings that limit the starts of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitSettings {
    /// Maximum number of concurrent tasks.
    pub concurrency: u16,
    /// Average number of starts per 1,000 seconds; `None` for no limit.
    pub starts_per_1000_s: Option<u64>,
}

impl LimitSettings {
    /// Average number of starts per second; `None` for no limit.
    #[must_use]
    pub fn rate_per_second(&self) -> Option<f64> {
        self.starts_per_1000_s.map(|starts| starts as f64 / 1_000.0)
    }
}

/// The downstream's capacity, as measured by a processor while no slot was free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Time at which the capacity was last measured or confirmed.
    pub at: Millis,
    /// Runs per 1,000 seconds.
    pub runs_per_1000_s: u64,
}

impl Capacity {
    /// Time for which a measured capacity is valid. If no newer measurement follows within this
    /// time, no processor is active or a slot is free.
    const VALID: Duration = Duration::from_secs(30);

    pub fn new(per_second: f64, at: Millis) -> Self {
        let runs_per_1000_s = (per_second * 1_000.0) as u64;
        Self {
            at,
            runs_per_1000_s,
        }
    }

    pub fn per_second(self) -> f64 {
        let runs = self.runs_per_1000_s as f64;
        runs / 1_000.0
    }

    /// Whether the capacity is recent enough to be valid.
    pub(crate) fn is_recent(self, now: Millis) -> bool {
        now.since(self.at) < Self::VALID
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastResponse {
    /// When the run ended.
    pub at: Millis,
    pub task: String,
    /// Status and start of the response body, or the error.
    pub text: String,
}

impl LastResponse {
    /// Records a response to `task` at `at`. Keeps only the start of `text`.
    pub fn new(at: Millis, task: &TaskId, text: &str) -> Self {
        let text = match text.char_indices().nth(MAX_RESPONSE) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}…", &text[..end]),
        };
        let task = task.to_string();
        Self { at, task, text }
    }
}

/// Tasks that ended, counted in intervals of 10 seconds. Stored as text:
/// `<interval>:<succeeded>:<failed>`, separated by spaces, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Ended(Vec<Interval>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    number: i64,
    succeeded: u32,
    failed: u32,
}

impl Ended {
    /// Counts a task that ended at `at`, and forgets tasks that ended more than a minute earlier.
    pub fn count(&mut self, at: Millis, failed: bool) {
        let number = at.0.div_euclid(INTERVAL);
        self.0.retain(|there| there.ends_after(at.minus(WINDOW)));
        let last = match self.0.last().is_some_and(|last| last.number >= number) {
            true => self.0.last_mut(),
            false => {
                self.0.push(Interval {
                    number,
                    succeeded: 0,
                    failed: 0,
                });
                self.0.last_mut()
            }
        };
        if let Some(last) = last {
            last.succeeded += u32::from(!failed);
            last.failed += u32::from(failed);
        }
    }

    /// Numbers of tasks that succeeded and that failed in the last minute, in whole intervals.
    pub fn within(&self, now: Millis) -> (u32, u32) {
        let recent = self.0.iter();
        let recent = recent.filter(|there| there.ends_after(now.minus(WINDOW)));
        recent.fold((0, 0), |(succeeded, failed), there| {
            (succeeded + there.succeeded, failed + there.failed)
        })
    }

    /// Like [`within`](Self::within), but per second.
    pub fn per_second(&self, now: Millis) -> (f64, f64) {
        let first = now.minus(WINDOW).0.div_euclid(INTERVAL);
        let span = now.since(Millis(first * INTERVAL)).as_secs_f64();
        let (succeeded, failed) = self.within(now);
        (f64::from(succeeded) / span, f64::from(failed) / span)
    }
}

impl Interval {
    fn ends_after(self, at: Millis) -> bool {
        (self.number + 1).saturating_mul(INTERVAL) > at.0
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let intervals = self.0.iter().map(|there| {
            let Interval {
                number,
                succeeded,
                failed,
            } = there;
            format!("{number}:{succeeded}:{failed}")
        });
        f.write_str(&intervals.collect::<Vec<_>>().join(" "))
    }
}

impl From<Ended> for String {
    fn from(ended: Ended) -> Self {
        ended.to_string()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not in the form <interval>:<succeeded>:<failed>")]
pub struct InvalidEnded;

impl TryFrom<String> for Ended {
    type Error = InvalidEnded;

    fn try_from(text: String) -> Result<Self, InvalidEnded> {
        let intervals = text.split_whitespace().map(str::parse);
        intervals.collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for Interval {
    type Err = InvalidEnded;

    fn from_str(text: &str) -> Result<Self, InvalidEnded> {
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or(InvalidEnded);
        let (number, succeeded, failed) = (next()?, next()?, next()?);
        Ok(Self {
            number: number.parse().map_err(|_| InvalidEnded)?,
            succeeded: succeeded.parse().map_err(|_| InvalidEnded)?,
            failed: failed.parse().map_err(|_| InvalidEnded)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_800_000_005_000);

    fn at(seconds: i64) -> Millis {
        Millis(NOW.0 + seconds * 1_000)
    }

    #[test]
    fn ended_tasks_of_the_last_minute_are_counted_by_result() {
        let mut ended = Ended::default();
        for second in -90..0 {
            ended.count(at(second), second % 10 == 0);
        }
        // Six whole intervals and the current one, in which five seconds have passed.
        assert_eq!(ended.within(at(-1)), (59, 6));
        assert_eq!(ended.within(at(30)), (32, 3));
        assert_eq!(ended.within(at(120)), (0, 0));
        let (succeeded, failed) = ended.per_second(at(-1));
        assert!((succeeded + failed - 1.0).abs() < 0.02, "one per second");
        assert_eq!(ended.0.len(), 7, "older intervals are forgotten");
    }

    #[test]
    fn the_longest_run_counts_for_two_minutes() {
        let run = |seconds, ms| LongestRun {
            at: at(seconds),
            ms,
        };
        let slow = LongestRun::after(None, run(0, 25_000));
        assert_eq!(LongestRun::after(Some(slow), run(119, 130)), slow);
        assert_eq!(LongestRun::after(Some(slow), run(120, 130)), run(120, 130));
        assert_eq!(
            LongestRun::after(Some(slow), run(5, 25_000)),
            run(5, 25_000)
        );
    }

    #[test]
    fn ended_tasks_are_stored_as_short_text() {
        let mut ended = Ended::default();
        ended.count(NOW, false);
        ended.count(at(12), true);
        let text = String::from(ended.clone());
        assert_eq!(text, "180000000:1:0 180000001:0:1");
        assert_eq!(Ended::try_from(text), Ok(ended));
        for malformed in ["1:2", "x:1:1", "1:-1:0"] {
            assert_eq!(Ended::try_from(malformed.to_owned()), Err(InvalidEnded));
        }
    }

    #[test]
    fn late_task_is_counted_in_the_newest_interval() {
        let mut ended = Ended::default();
        ended.count(at(20), false);
        ended.count(NOW, false);
        assert_eq!(ended.to_string(), "180000002:2:0");
    }

    #[test]
    fn a_long_response_is_shortened() {
        let response = |length| {
            let text = "é".repeat(length);
            LastResponse::new(NOW, &TaskId::from_stored("a"), &text).text
        };
        assert_eq!(response(200), "é".repeat(200));
        assert_eq!(response(201), format!("{}…", "é".repeat(200)));
    }
}
