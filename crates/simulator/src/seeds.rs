//! The seeds of a test with random inputs.
//!
//! | environment variable | seeds |
//! |---|---|
//! | none | the test's own seeds, so that all runs are identical |
//! | `FRESHQ_SEED` | only this seed, to reproduce a failure |
//! | `FRESHQ_FIRST_SEED` | the test's seeds plus this number; each repetition of nextest's `--stress-count` adds another 1,000,000 |
//! | `FRESHQ_SOAK=1` | ten times as many seeds, starting at ten times the test's first seed |

use std::ops::Range;

/// Offset between repetitions. It exceeds all seeds in tests, so repetitions never share a seed.
const REPETITION: u64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    pub range: Range<u64>,
    /// Whether the range is the test's own, or ten times as long with `FRESHQ_SOAK`. Only in this
    /// case can a test require rare behavior.
    pub usual: bool,
}

impl Seeds {
    /// Selects a test's seeds by the environment variables. `usual` is the test's own range.
    pub fn of(usual: Range<u64>) -> Self {
        Self::by(usual, |variable| std::env::var(variable).ok())
    }

    fn by(usual: Range<u64>, value: impl Fn(&str) -> Option<String>) -> Self {
        let parse = |variable: &str, text: &str| match text.parse::<u64>() {
            Ok(number) => number,
            Err(_) => panic!("{variable} is {text:?}; give a whole number of 0 or more"),
        };
        let number = |variable: &str| value(variable).map(|text| parse(variable, &text));
        if let Some(seed) = number("FRESHQ_SEED") {
            return Self {
                range: seed..seed + 1,
                usual: false,
            };
        }
        if let Some(first) = number("FRESHQ_FIRST_SEED") {
            // nextest sets this variable to "none" without `--stress-count`.
            let repetition = value("NEXTEST_STRESS_CURRENT").filter(|current| current != "none");
            let repetition =
                repetition.map_or(0, |current| parse("NEXTEST_STRESS_CURRENT", &current));
            let shift = first + repetition * REPETITION;
            return Self {
                range: usual.start + shift..usual.end + shift,
                usual: false,
            };
        }
        let range = match value("FRESHQ_SOAK").as_deref() {
            Some("1") => 10 * usual.start..10 * usual.end,
            _ => usual,
        };
        Self { range, usual: true }
    }
}

/// Seeds this thread's generator, which the code under test uses for jitter, and prints the seed. A
/// test runner shows the output of a failing test. `FRESHQ_SEED` reproduces it.
#[allow(clippy::print_stdout, reason = "a failing test is to show it")]
pub fn draw() {
    let any = fastrand::u64(..1 << 32);
    let seed = Seeds::of(any..any + 1).range.start;
    println!("repeat this test with FRESHQ_SEED={seed}");
    fastrand::seed(seed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(usual: Range<u64>, variables: &[(&str, &str)]) -> Seeds {
        Seeds::by(usual, |wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn default_seeds_are_those_of_the_test() {
        let seeds = by(5..10, &[]);
        assert_eq!((seeds.range, seeds.usual), (5..10, true));
    }

    #[test]
    fn single_seed_can_be_replayed() {
        let seeds = by(5..10, &[("FRESHQ_SEED", "77"), ("FRESHQ_FIRST_SEED", "1")]);
        assert_eq!((seeds.range, seeds.usual), (77..78, false));
    }

    #[test]
    fn each_repetition_runs_different_seeds() {
        let first = ("FRESHQ_FIRST_SEED", "300");
        let played = ["0", "1", "2"].map(|repetition| {
            let seeds = by(5..10, &[first, ("NEXTEST_STRESS_CURRENT", repetition)]);
            assert!(!seeds.usual);
            seeds.range
        });
        assert_eq!(
            played,
            [305..310, 1_000_305..1_000_310, 2_000_305..2_000_310]
        );
    }

    #[test]
    fn first_seed_applies_without_repetitions() {
        let none = ("NEXTEST_STRESS_CURRENT", "none");
        let seeds = by(5..10, &[("FRESHQ_FIRST_SEED", "300"), none]);
        assert_eq!(seeds.range, 305..310);
    }

    #[test]
    fn soak_runs_ten_times_as_many_seeds() {
        assert_eq!(by(5..10, &[("FRESHQ_SOAK", "1")]).range, 50..100);
    }

    #[test]
    #[should_panic(expected = "FRESHQ_SEED is \"x\"; give a whole number")]
    fn non_numeric_seed_is_an_error() {
        let _ = by(5..10, &[("FRESHQ_SEED", "x")]);
    }
}
