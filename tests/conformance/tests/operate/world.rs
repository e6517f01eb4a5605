//! A queue with failed tasks.

use std::time::Duration;

use conformance::{NOW, Queue, insert, inserted};
use lifo_queue::depth::Depth;
use lifo_queue::store::Written;
use lifo_queue::time::Clock;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// A queue with these tasks in FAILURE, created one millisecond apart.
pub(crate) async fn with_failed(ids: &[impl AsRef<str>]) -> Queue {
    let queue = Queue::start();
    insert(&*queue.store, ids).await;
    for (created, id) in (0..).zip(ids) {
        let seen = inserted(id.as_ref(), created);
        let keep_until = queue.clock.now().floor_seconds().plus(HOUR);
        let failed = queue.store.quarantine(&seen, "bad", keep_until, NOW).await;
        assert_eq!(failed.unwrap(), Written::Done);
    }
    queue
}

pub(crate) fn exactly(count: u32) -> Depth {
    Depth { count, exact: true }
}
