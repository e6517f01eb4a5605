//! Runs experiments in parallel on all CPU cores. Each experiment has its own clock and seed and
//! runs on one thread, so the order does not change the figures.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use simulator::sync::lock;

/// Applies `work` to every item and returns the results in the order of the items.
pub(crate) fn map<I: Send, O: Send>(items: Vec<I>, work: impl Fn(I) -> O + Sync) -> Vec<O> {
    let mut results: Vec<Option<O>> = items.iter().map(|_| None).collect();
    let queue = Mutex::new(items.into_iter().zip(&mut results));
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = lock(&queue).next();
                    let Some((item, result)) = next else { break };
                    *result = Some(work(item));
                }
            });
        }
    });
    drop(queue);
    // If a thread panicked, the scope has panicked too, so every result exists.
    results.into_iter().flatten().collect()
}
