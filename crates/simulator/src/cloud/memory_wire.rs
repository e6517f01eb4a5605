//! Calls to the in-memory table, over the simulated network.

use std::sync::Arc;

use futures::FutureExt;
use lifo_queue::store::StoreError;
use lifo_queue::store::memory::MemoryStore;

use super::table::{self, Subject};
use super::wire::{READS, WRITES, exchange};
use super::world::{Actor, World};
use crate::fault::Fault;
use crate::layered::tasks::TaskCall;

/// Polls a call of the in-memory store once, because the store never waits.
pub(crate) fn at_once<T>(
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    call.now_or_never()
        .unwrap_or_else(|| Err(Fault::LostAck.error("memory")))
}

/// Makes a call over the simulated network.
pub(crate) async fn call<T: Send + 'static>(
    by: &Actor,
    store: Arc<MemoryStore>,
    call: TaskCall<'_, T>,
) -> Result<T, StoreError> {
    let operation = call.operation;
    let subject = Subject::of(call.about);
    let kinds = if subject.is_written() { WRITES } else { READS };
    let (process, call) = (by.process.clone(), call.on(store));
    let apply = move |world: &World| table::apply(world, &process, &subject, || at_once(call));
    let exchanged = exchange(by, operation, kinds, apply).await;
    exchanged.unwrap_or_else(|fault| Err(fault.error(operation)))
}
