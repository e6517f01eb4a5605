use std::time::Duration;

use tokio::time::advance;

use super::*;

const UNITS: f64 = 1_000.0;

fn write(partitions: &mut Partitions, partition: &str) -> Result<(), Vec<bool>> {
    let key = (partition.to_owned(), "item".to_owned());
    partitions.consume(Access::Write, &[key])
}

/// Writes to these partitions in turn for one second, as often as their limits allow. Returns the
/// units that each partition consumed.
async fn fill_for_a_second(partitions: &mut Partitions, names: &[&str]) -> Vec<f64> {
    let mut consumed = vec![0.0; names.len()];
    for _ in 0..1_000 {
        for (consumed, name) in std::iter::zip(&mut consumed, names) {
            while write(partitions, name).is_ok() {
                *consumed += 1.0;
            }
        }
        advance(Duration::from_millis(1)).await;
    }
    consumed
}

#[tokio::test(start_paused = true)]
async fn partition_throttles_the_next_write_after_consuming_its_units() {
    let mut partitions = Partitions::new(UNITS);
    let consumed = fill_for_a_second(&mut partitions, &["p"]).await;
    let most = UNITS * (1.0 + BURST_SECONDS);
    assert!((UNITS..=most).contains(&consumed[0]), "{consumed:?}");
    assert_eq!(
        write(&mut partitions, "p"),
        Ok(()),
        "the last millisecond's"
    );
    assert_eq!(write(&mut partitions, "p"), Err(vec![true]));
    advance(Duration::from_millis(1)).await;
    assert_eq!(write(&mut partitions, "p"), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn two_partitions_have_independent_limits() {
    let mut partitions = Partitions::new(UNITS);
    let alone = fill_for_a_second(&mut Partitions::new(UNITS), &["p"]).await;
    let consumed = fill_for_a_second(&mut partitions, &["p", "q"]).await;
    assert_eq!(consumed, [alone[0], alone[0]]);
    while write(&mut partitions, "p").is_ok() {}
    let keys = ["p", "q"].map(|name| (name.to_owned(), "item".to_owned()));
    let both = partitions.consume(Access::Transaction, &keys);
    assert_eq!(both, Err(vec![true, true]), "a transaction takes two units");
    advance(Duration::from_millis(10)).await;
    while write(&mut partitions, "p").is_ok() {}
    let both = partitions.consume(Access::Transaction, &keys);
    assert_eq!(both, Err(vec![true, false]));
    assert_eq!(write(&mut partitions, "q"), Ok(()), "it consumed nothing");
}
