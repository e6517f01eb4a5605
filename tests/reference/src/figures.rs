//! Counts of what was run.

use std::collections::BTreeMap;
use std::fmt;

use crate::operation::{Answer, Operation};
use crate::rule::Rule;

/// Counts of sequences, operations and applied rules.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Sequences run to their end.
    pub sequences: u64,
    operations: BTreeMap<&'static str, Tally>,
    rules: BTreeMap<Rule, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    performed: u64,
    refused: u64,
}

impl Figures {
    /// Counts an operation that was answered correctly.
    pub fn count(&mut self, operation: &Operation, answer: &Answer, rule: Rule) {
        let tally = self.operations.entry(operation.name()).or_default();
        tally.performed += 1;
        tally.refused += u64::from(answer.is_refusal());
        *self.rules.entry(rule).or_default() += 1;
    }

    /// The rules that never applied: no drawn operation, or no answer, led to them.
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
        let sum = |of: fn(&Tally) -> u64| self.operations.values().map(of).sum::<u64>();
        writeln!(
            f,
            "{} sequences, {} operations, {} of them rejected; {} of {} rules applied",
            self.sequences,
            sum(|tally| tally.performed),
            sum(|tally| tally.refused),
            self.rules.len(),
            Rule::ALL.len(),
        )?;
        for (name, tally) in &self.operations {
            let Tally { performed, refused } = tally;
            writeln!(f, "  {name:<14}{performed:>9}, {refused:>7} refused")?;
        }
        let mut rare: Vec<_> = self.rules.iter().collect();
        rare.sort_by_key(|(_, times)| **times);
        write!(f, "  rarest:")?;
        for (rule, times) in rare.iter().take(3) {
            write!(f, " {rule:?} ({times})")?;
        }
        Ok(())
    }
}
