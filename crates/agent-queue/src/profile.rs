//! The values by which an agent is chosen.

use std::collections::BTreeSet;

use crate::name::Value;

/// An agent's values: one set per dimension, in the order of the dimensions. The set of a
/// single-valued dimension has one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile(Vec<BTreeSet<Value>>);

impl Profile {
    /// Creates a profile of valid values ([`profile`](crate::dimension::Dimensions::profile)).
    pub(crate) fn new(values: Vec<BTreeSet<Value>>) -> Self {
        Self(values)
    }

    pub fn values(&self) -> &[BTreeSet<Value>] {
        &self.0
    }

    pub(crate) fn combinations(&self) -> Vec<Vec<&Value>> {
        let mut combinations = vec![vec![]];
        for values in &self.0 {
            let longer = combinations.iter().flat_map(|shorter: &Vec<&Value>| {
                values.iter().map(|value| {
                    let mut longer = shorter.clone();
                    longer.push(value);
                    longer
                })
            });
            combinations = longer.collect();
        }
        combinations
    }
}
