//! What an agent is chosen by.

use std::collections::BTreeSet;

use crate::name::Value;

/// An agent's values: several in the first dimension, one in each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    several: BTreeSet<Value>,
    single: Vec<Value>,
}

impl Profile {
    /// A profile of values that were checked ([`Dimensions::profile`](crate::dimension::Dimensions::profile)).
    #[must_use]
    pub(crate) fn new(several: BTreeSet<Value>, single: Vec<Value>) -> Self {
        Self { several, single }
    }

    /// The values of the multi-valued dimension, in order.
    #[must_use]
    pub fn several(&self) -> &BTreeSet<Value> {
        &self.several
    }

    /// The values of the other dimensions, in the dimensions' order.
    #[must_use]
    pub fn single(&self) -> &[Value] {
        &self.single
    }
}
