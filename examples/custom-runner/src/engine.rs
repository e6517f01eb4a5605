//! A pricing engine that stands in for your own synchronous library.

use serde::Deserialize;

/// An order in the format that producers write to a task's payload.
#[derive(Debug, Deserialize)]
pub(crate) struct Order {
    lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
struct Line {
    cents: u64,
    quantity: u64,
}

/// The order's total doesn't fit in a `u64`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the order's total does not fit into 64 bits")
    }
}

pub(crate) fn price(order: &Order) -> Result<u64, TooLarge> {
    order.lines.iter().try_fold(0u64, |sum, line| {
        line.cents
            .checked_mul(line.quantity)
            .and_then(|cents| sum.checked_add(cents))
            .ok_or(TooLarge)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_total_is_the_sum_of_its_lines() {
        let line = |cents, quantity| Line { cents, quantity };
        assert_eq!(
            price(&Order {
                lines: vec![line(250, 4), line(99, 1)]
            }),
            Ok(1_099)
        );
        assert_eq!(price(&Order { lines: vec![] }), Ok(0));
        assert_eq!(
            price(&Order {
                lines: vec![line(u64::MAX, 1), line(1, 1)]
            }),
            Err(TooLarge)
        );
    }
}
