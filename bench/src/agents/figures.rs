//! The measured figures.

use std::collections::BTreeMap;

use super::mode::Mode;

/// The figures per mode and number of processes.
pub(super) type Report = BTreeMap<(Mode, usize), Figure>;

#[derive(Clone, Debug, Default)]
pub(super) struct Figure {
    /// Matches per second.
    pub(super) rate: f64,
    /// Matches per second with a write limit per partition.
    pub(super) limited: Option<f64>,
    /// Matches per second of the published algorithm, without and with the write limit.
    pub(super) sample: Option<f64>,
    pub(super) sample_limited: Option<f64>,
    pub(super) conflict_share: f64,
    /// DynamoDB requests per match.
    pub(super) calls_per_match: f64,
    /// Write units per match, on the embedded DynamoDB.
    pub(super) write_units: Option<f64>,
    /// Read units per match, on the embedded DynamoDB.
    pub(super) read_units: Option<f64>,
    /// 99th percentile, in milliseconds, of the time from a batch's arrival to the publication of
    /// the assignment; in `CallsWait`, of the duration of an enqueue that assigns a call.
    pub(super) p99_ms: f64,
}

impl Figure {
    /// The rate divided by that of the published algorithm.
    pub(super) fn times(&self) -> Option<f64> {
        Some(self.rate / self.sample?)
    }

    /// The same with the write limit.
    pub(super) fn times_limited(&self) -> Option<f64> {
        Some(self.limited? / self.sample_limited?)
    }

    /// Returns the mean figures of runs with the same number of matches. The mean rate is the total
    /// number of matches divided by the total time of the runs.
    pub(super) fn mean(runs: &[Self]) -> Self {
        let count = runs.len() as f64;
        let of = |figure: fn(&Self) -> f64| runs.iter().map(figure).sum::<f64>() / count;
        let some = |figure: fn(&Self) -> Option<f64>| {
            let there: Option<Vec<_>> = runs.iter().map(figure).collect();
            there.map(|there| there.iter().sum::<f64>() / count)
        };
        Self {
            rate: 1.0 / of(|run| 1.0 / run.rate),
            limited: None,
            sample: None,
            sample_limited: None,
            conflict_share: of(|run| run.conflict_share),
            calls_per_match: of(|run| run.calls_per_match),
            p99_ms: of(|run| run.p99_ms),
            write_units: some(|run| run.write_units),
            read_units: some(|run| run.read_units),
        }
    }
}
