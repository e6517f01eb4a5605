//! The measured figures, and their file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::mode::Mode;
use crate::Error;

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Figure {
    /// Matches per second.
    pub(super) ours: f64,
    /// Matches per second with a write limit of each partition, by number of partitions of agents.
    pub(super) limited: BTreeMap<u8, f64>,
    /// The partitions that throttle most requests with the limit, likewise.
    pub(super) limited_by: BTreeMap<u8, String>,
    /// The partitions that throttle most requests of this run.
    #[serde(skip)]
    pub(super) throttled_by: Option<String>,
    pub(super) conflict_share: f64,
    /// Requests to DynamoDB for each match.
    pub(super) calls_per_match: f64,
    /// Write units for each match, on the embedded DynamoDB.
    pub(super) write_units: Option<f64>,
    /// The 99th percentile of the time from a batch's arrival to the assignment's publication, in
    /// milliseconds. For pending calls: of the time of an enqueue that assigns one.
    pub(super) p99_ms: f64,
    /// Read units for each match, on the embedded DynamoDB.
    #[serde(skip)]
    pub(super) read_units: Option<f64>,
}

impl Figure {
    /// The means of runs with the same number of matches. The mean rate is the number of all
    /// matches divided by the time of all runs.
    pub(super) fn mean(runs: &[Self]) -> Self {
        let count = runs.len() as f64;
        let of = |figure: fn(&Self) -> f64| runs.iter().map(figure).sum::<f64>() / count;
        let some = |figure: fn(&Self) -> Option<f64>| {
            let there: Vec<_> = runs.iter().filter_map(figure).collect();
            (!there.is_empty()).then(|| there.iter().sum::<f64>() / there.len() as f64)
        };
        Self {
            ours: 1.0 / of(|run| 1.0 / run.ours),
            conflict_share: of(|run| run.conflict_share),
            calls_per_match: of(|run| run.calls_per_match),
            p99_ms: of(|run| run.p99_ms),
            throttled_by: runs.iter().find_map(|run| run.throttled_by.clone()),
            write_units: some(|run| run.write_units),
            read_units: some(|run| run.read_units),
            ..Self::default()
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Report {
    figures: BTreeMap<(Mode, usize), Figure>,
}

impl Report {
    pub(super) fn add(&mut self, mode: Mode, matchers: usize, figure: Figure) {
        self.figures.insert((mode, matchers), figure);
    }

    pub(super) fn of(&self, mode: Mode, matchers: usize) -> Figure {
        self.figures
            .get(&(mode, matchers))
            .cloned()
            .unwrap_or_default()
    }

    /// Writes `<mode>.<matchers>.<figure>`, rounded to a thousandth.
    pub(super) fn write(&self, file: &Path) -> Result<(), Error> {
        let mut modes: BTreeMap<&str, BTreeMap<String, serde_json::Value>> = BTreeMap::new();
        for ((mode, matchers), figure) in &self.figures {
            let mut json = serde_json::to_value(figure)?;
            round(&mut json);
            let of = modes.entry(mode.name()).or_default();
            of.insert(matchers.to_string(), json);
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, serde_json::to_string_pretty(&modes)? + "\n")?;
        println!("The figures are in {}.", file.display());
        Ok(())
    }
}

fn round(json: &mut serde_json::Value) {
    if let Some(exact) = json.as_f64() {
        *json = ((exact * 1_000.0).round() / 1_000.0).into();
    }
    for value in json
        .as_object_mut()
        .into_iter()
        .flat_map(|all| all.values_mut())
    {
        round(value);
    }
}
