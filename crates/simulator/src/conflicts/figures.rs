//! Counts of requests and conflicts, and the consumed capacity.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Error, Value};

/// Requests, conflicts and consumed units, by operation (`Query`, `TransactWriteItems`, …).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub calls: BTreeMap<String, u64>,
    /// Number of requests that were rejected because they conflicted with a transaction.
    pub conflicts: BTreeMap<String, u64>,
    /// Consumed capacity units, from the responses.
    pub units: BTreeMap<String, f64>,
}

impl Figures {
    pub fn all_calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// Total number of requests that were rejected because of a conflict.
    pub fn all_conflicts(&self) -> u64 {
        self.conflicts.values().sum()
    }

    /// Total read units. A strongly consistent read costs twice as much as an eventually consistent
    /// one.
    pub fn read_units(&self) -> f64 {
        self.units_of(true)
    }

    /// Total write units. A transactional write costs twice as much as a standard write.
    pub fn write_units(&self) -> f64 {
        self.units_of(false)
    }

    fn units_of(&self, reads: bool) -> f64 {
        let units = self.units.iter();
        let units = units.filter(|(operation, _)| is_read(operation) == reads);
        units.map(|(_, units)| units).sum()
    }

    pub(super) fn count(&mut self, operation: &str) {
        *self.calls.entry(operation.to_owned()).or_default() += 1;
    }

    pub(super) fn count_conflict(&mut self, operation: &str) {
        *self.conflicts.entry(operation.to_owned()).or_default() += 1;
    }

    pub(super) fn add_units(&mut self, operation: &str, units: f64) {
        *self.units.entry(operation.to_owned()).or_default() += units;
    }
}

fn is_read(operation: &str) -> bool {
    ["GetItem", "Query", "Scan", "BatchGetItem"].contains(&operation)
}

/// The only part of a response that is parsed, because a response can be a megabyte long.
#[derive(Deserialize)]
struct Consumption {
    #[serde(default, rename = "ConsumedCapacity")]
    consumed: Value,
}

/// Returns the capacity units that a response reports, for one table or as the sum over all tables.
pub(super) fn consumed(response: &[u8]) -> Result<f64, Error> {
    if response.is_empty() {
        return Ok(0.0);
    }
    let Consumption { consumed } = serde_json::from_slice(response)?;
    let units = |consumed: &Value| consumed["CapacityUnits"].as_f64().unwrap_or(0.0);
    Ok(match &consumed {
        Value::Array(tables) => tables.iter().map(units).sum(),
        one => units(one),
    })
}
