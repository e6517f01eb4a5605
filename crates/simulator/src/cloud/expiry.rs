//! Simulates DynamoDB's time to live, which deletes expired items after a delay
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html>).

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::task::Ttl;

use super::process::{Function, Process};
use super::table;
use super::world::World;
use crate::sync::pause;

/// Interval between checks. Each check deletes an expired item with a probability of one third.
const INTERVAL: Duration = Duration::from_secs(30);

/// Starts a background task that checks the items until the run ends.
pub(crate) fn start(world: &Arc<World>) {
    let world = world.clone();
    tokio::spawn(async move {
        let service = Process::start(&world, Function::Operator);
        loop {
            pause(INTERVAL).await;
            let now = world.now();
            for (id, record) in world.backend.tasks() {
                let expired = matches!(record.ttl, Ttl::Seconds(_)) && record.ttl.is_expired(now);
                if expired && world.chance.below(3) == 0 {
                    table::put(&world, &service, &id, None);
                }
            }
        }
    });
}
