//! The cost of queue joins on DynamoDB.
#![allow(clippy::unwrap_used)]

use agents::{agent, available, enqueue, store_of};
use simulator::agents::embedded::Embedded;
use simulator::conflicts::{Conflicts, Latency};

#[tokio::test]
async fn enqueue_costs_four_units() {
    let conflicts = Conflicts::new(Latency::default());
    let store = store_of(conflicts.client_of(Embedded::start().unwrap().engine()));
    let ana = available(&store, agent("ana", &["Spanish"], "F")).await;
    drop(conflicts.take_figures());
    enqueue(&store, ana, 1).await;
    // One write each for the agent and its entry. Transactional writes cost twice as much.
    assert_eq!(conflicts.take_figures().write_units(), 4.0);
}
