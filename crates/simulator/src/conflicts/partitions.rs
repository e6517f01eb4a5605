//! The write limit per partition.
//!
//! DynamoDB allows 1,000 write units per second per partition
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>).
//! Here, all items with the same partition key form one partition, which never splits. Requests
//! above the limit are throttled. An item counts as one unit, or as two in a transaction, because
//! no item of the benchmarks is larger than 1 KB.

use std::collections::{BTreeMap, HashMap};

use agent_queue::transaction::Key;
use tokio::time::Instant;

use super::held::Access;

/// Burst capacity of an idle partition, in seconds of its write limit.
const BURST_SECONDS: f64 = 0.02;

#[derive(Debug)]
pub(super) struct Partitions {
    per_second: f64,
    buckets: HashMap<String, Bucket>,
}

#[derive(Debug)]
struct Bucket {
    units: f64,
    at: Instant,
}

impl Partitions {
    /// Creates partitions with this limit, in write units per second.
    pub(super) fn new(per_second: f64) -> Self {
        Self {
            per_second,
            buckets: HashMap::new(),
        }
    }

    /// Consumes the units of a request, or none if one of its partitions does not allow them. The
    /// error has one flag per item, true if the partition of that item has reached its limit.
    pub(super) fn consume(&mut self, access: Access, keys: &[Key]) -> Result<(), Vec<bool>> {
        let now = Instant::now();
        let most = self.per_second * BURST_SECONDS;
        let mut wanted: BTreeMap<&str, f64> = BTreeMap::new();
        for (partition, _) in keys {
            *wanted.entry(partition).or_default() += access.write_units();
        }
        let mut allows = |partition: &str, units: f64| {
            let full = Bucket {
                units: most,
                at: now,
            };
            let bucket = self.buckets.entry(partition.to_owned()).or_insert(full);
            let refilled = (now - bucket.at).as_secs_f64() * self.per_second;
            bucket.units = (bucket.units + refilled).min(most);
            bucket.at = now;
            // A full bucket also allows a larger request and then takes longer to refill.
            bucket.units >= units.min(most)
        };
        let limited: Vec<_> = wanted
            .iter()
            .filter(|(partition, units)| !allows(partition, **units))
            .map(|(partition, _)| *partition)
            .collect();
        if !limited.is_empty() {
            let at_limit = |(partition, _): &Key| limited.contains(&partition.as_str());
            return Err(keys.iter().map(at_limit).collect());
        }
        for (partition, units) in wanted {
            if let Some(bucket) = self.buckets.get_mut(partition) {
                bucket.units -= units;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
