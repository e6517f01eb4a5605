//! Counts of the sequences, operations and rules that were run.

use std::collections::BTreeMap;
use std::fmt;

use crate::rule::Rule;

#[derive(Clone, Debug)]
pub struct Figures<R> {
    /// Number of sequences that ran to completion.
    pub sequences: u64,
    operations: BTreeMap<&'static str, Tally>,
    rules: BTreeMap<R, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    performed: u64,
    rejected: u64,
}

impl<R> Default for Figures<R> {
    fn default() -> Self {
        Self {
            sequences: 0,
            operations: BTreeMap::new(),
            rules: BTreeMap::new(),
        }
    }
}

impl<R: Rule> Figures<R> {
    /// Counts an operation with this name and a correct result.
    pub fn count(&mut self, operation: &'static str, is_rejected: bool, rule: R) {
        let tally = self.operations.entry(operation).or_default();
        tally.performed += 1;
        tally.rejected += u64::from(is_rejected);
        *self.rules.entry(rule).or_default() += 1;
    }

    /// Returns the rules that never applied, because no drawn operation or result led to them.
    pub fn unused(&self) -> Vec<&'static str> {
        let rules = R::ALL.iter();
        rules
            .filter(|rule| !self.rules.contains_key(rule))
            .map(|rule| rule.row())
            .collect()
    }
}

impl<R: Rule> fmt::Display for Figures<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&Tally) -> u64| self.operations.values().map(of).sum::<u64>();
        writeln!(
            f,
            "{} sequences, {} operations, {} of them rejected; {} of {} rules applied",
            self.sequences,
            sum(|tally| tally.performed),
            sum(|tally| tally.rejected),
            self.rules.len(),
            R::ALL.len(),
        )?;
        for (name, tally) in &self.operations {
            let Tally {
                performed,
                rejected,
            } = tally;
            writeln!(f, "  {name:<14}{performed:>9}, {rejected:>7} rejected")?;
        }
        let mut rare: Vec<_> = self.rules.iter().collect();
        rare.sort_by_key(|(_, times)| **times);
        write!(f, "  rarest:")?;
        for (rule, times) in rare.iter().take(4) {
            write!(f, " {rule:?} ({times})")?;
        }
        Ok(())
    }
}
