//! Splits a batch into waves of messages that are processed together, so that memory is bounded.
//!
//! A batch has a maximum size of 6 MB, but its bodies grow when they are parsed: `0,` becomes a
//! JSON value, an attribute value and part of a request, and `{},` becomes a task with an id. One
//! message can contain 10,000 tasks, so a limit on the number of messages would not limit memory.

use std::cmp::Reverse;

use super::Delivery;

/// Estimated maximum memory per JSON value in a body, in bytes.
const VALUE_BYTES: usize = 300;

/// Estimated maximum memory per byte of text, in bytes. Covers the payload, its attribute value and
/// its request.
const TEXT_FACTOR: usize = 4;

/// Maximum estimated memory for the messages of one wave, in bytes: a quarter of the function's
/// default of 256 MB.
const WAVE_BYTES: usize = 64 * 1024 * 1024;

/// Splits the batch into waves, newest messages first. The indexes within a wave are in batch
/// order. A wave has at least one message.
///
/// With each further receive of a batch, a wave's memory limit drops to a quarter of the previous
/// limit, because the previous process may have exceeded its memory.
pub(super) fn of(batch: &[Delivery]) -> Vec<Vec<usize>> {
    let receives = batch.iter().map(|message| message.receives).max();
    let quarters = receives.unwrap_or(1).saturating_sub(1).min(13);
    let most = WAVE_BYTES >> (2 * quarters);
    let mut newest_first: Vec<_> = (0..batch.len()).collect();
    newest_first.sort_by_key(|index| Reverse(batch[*index].sent));
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for index in newest_first {
        let weight = weight(&batch[index].body);
        match waves.last_mut().filter(|_| weight <= left) {
            Some(wave) => {
                wave.push(index);
                left -= weight;
            }
            None => {
                waves.push(vec![index]);
                left = most.saturating_sub(weight);
            }
        }
    }
    for wave in &mut waves {
        wave.sort_unstable();
    }
    waves
}

/// Estimated maximum memory for a parsed body, in bytes. Separators within strings count as values,
/// so the body may need less.
fn weight(body: &str) -> usize {
    let begins_value = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b'{');
    let values = body.bytes().filter(|byte| begins_value(byte)).count();
    body.len() * TEXT_FACTOR + (values + 1) * VALUE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Millis;

    fn message(body: String, sent: i64, receives: u32) -> Delivery {
        Delivery {
            id: "m".to_owned(),
            receipt: "r".to_owned(),
            body,
            group: None,
            sent: Millis(sent),
            first_received: Millis(sent),
            receives,
        }
    }

    fn sizes(batch: &[Delivery]) -> Vec<usize> {
        of(batch).iter().map(Vec::len).collect()
    }

    #[test]
    fn an_ordinary_batch_is_one_wave() {
        let ordinary = r#"{"taskId":"order-17","payload":{"customer":7,"items":["a","b"]}}"#;
        let batch: Vec<_> = (0..10_000)
            .map(|n| message(ordinary.to_owned(), n, 1))
            .collect();
        assert_eq!(sizes(&batch), [10_000]);
    }

    #[test]
    fn waves_are_bounded_by_memory_and_not_by_message_count() {
        let numbers = format!("{{\"payload\":[{}0]}}", "0,".repeat(130_000));
        let batch: Vec<_> = (0..6).map(|n| message(numbers.clone(), n, 1)).collect();
        assert_eq!(of(&batch), [[5], [4], [3], [2], [1], [0]]);
        let tasks = format!("[{}{{}}]", "{},".repeat(9_999));
        let batch: Vec<_> = (0..100).map(|n| message(tasks.clone(), n, 1)).collect();
        assert!(sizes(&batch).into_iter().all(|size| size <= 12));
    }

    #[test]
    fn redelivered_batch_is_split_into_smaller_waves() {
        let body = format!("[{}{{}}]", "{},".repeat(99));
        let waves = |receives| {
            let batch: Vec<_> = (0..1_000)
                .map(|n| message(body.clone(), n, receives))
                .collect();
            of(&batch).len()
        };
        assert!(waves(2) > waves(1) && waves(3) > 2 * waves(2));
        assert_eq!(waves(u32::MAX), 1_000, "message by message");
    }
}
