//! Counts of what was run.

use std::collections::BTreeMap;
use std::fmt;

use super::operation::{Answer, Operation};
use super::rule::Rule;

/// Counts of sequences, requests and applied rules.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Sequences run to their end.
    pub sequences: u64,
    operations: BTreeMap<&'static str, u64>,
    refused: u64,
    rules: BTreeMap<Rule, u64>,
}

impl Figures {
    /// Counts a request that was answered correctly.
    pub fn count(&mut self, operation: &Operation, answer: &Answer, rule: Rule) {
        *self.operations.entry(operation.wish.name()).or_default() += 1;
        self.refused += u64::from(answer.is_refusal());
        *self.rules.entry(rule).or_default() += 1;
    }

    /// The rules that never applied: no drawn request, or no answer, led to them.
    #[must_use]
    pub fn unused(&self) -> Vec<&'static str> {
        let rules = Rule::ALL.iter();
        rules
            .filter(|rule| !self.rules.contains_key(rule))
            .map(|rule| rule.row())
            .collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} sequences, {} operations, {} of them rejected; {} of {} rules applied",
            self.sequences,
            self.operations.values().sum::<u64>(),
            self.refused,
            self.rules.len(),
            Rule::ALL.len(),
        )?;
        for (name, performed) in &self.operations {
            writeln!(f, "  {name:<14}{performed:>9}")?;
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
