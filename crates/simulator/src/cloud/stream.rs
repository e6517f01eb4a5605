//! The table's stream and its event source mapping to `trigger`. Records are ordered per shard,
//! filtered and batched. A failed batch is bisected and retried.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lifo_queue::notify::WakeReason;
use lifo_queue::schema::RESERVED_PREFIX;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{TaskId, TaskStatus};

use super::invocation::{Ended, Event};
use super::parts::Insert;
use super::process::Function;
use super::world::World;
use crate::fault::Fault;
use crate::sync::{lock, pause};

/// Maximum wait before a shard is read. Lambda polls a shard four times per second.
const POLL: Duration = Duration::from_millis(250);

/// Initial and maximum delay before a failed batch is retried. The delay doubles with each retry.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Writes a stream record if the change passes the mapping's filter: new PENDING tasks, and new
/// states of keys that are PENDING and had no run. The queue's own items do not pass.
pub(crate) fn record(world: &World, id: &TaskId, before: Option<&Record>, after: Option<&Record>) {
    let stream = &world.stream;
    let number = stream.written.fetch_add(1, Ordering::Relaxed);
    let Some(after) = after.filter(|record| record.status == TaskStatus::Pending) else {
        return;
    };
    let is_new = before
        .is_none_or(|before| before.version != after.version && before.status != TaskStatus::Taken);
    if !is_new || id.as_str().starts_with(RESERVED_PREFIX) {
        return;
    }
    let now = world.now();
    let late = world.chance.befalls(&[Fault::StreamDelayed], now).map_or(
        Duration::from_millis(20),
        |_| {
            let seconds = Duration::from_secs;
            world.chance.between(seconds(1), seconds(20))
        },
    );
    let shard = id.as_str().bytes().map(usize::from).sum::<usize>() % stream.shards.len();
    stream.unread.fetch_add(1, Ordering::Relaxed);
    let shard = &stream.shards[shard];
    lock(&shard.records).push_back(Insert {
        event: format!("record-{number}"),
        written: now,
        readable: now.plus(late),
    });
    shard.arrived.notify_one();
}

pub(crate) fn start(world: &Arc<World>) {
    for number in 0..world.stream.shards.len() {
        let world = world.clone();
        tokio::spawn(async move {
            loop {
                read(&world, number).await;
            }
        });
    }
}

/// Reads one batch and delivers it.
async fn read(world: &Arc<World>, number: usize) {
    let stream = &world.stream;
    let shard = &stream.shards[number];
    let readable = lock(&shard.records).front().map(|first| first.readable);
    let Some(readable) = readable else {
        shard.arrived.notified().await;
        return;
    };
    pause(readable.since(world.now())).await;
    pause(world.chance.between(Duration::ZERO, POLL)).await;
    let settings = world.settings.stream;
    if lock(&shard.records).len() < settings.batch_size {
        pause(settings.window).await;
    }
    let now = world.now();
    let batch: Vec<Insert> = {
        let mut records = lock(&shard.records);
        let ready = records.iter().take(settings.batch_size);
        let ready = ready.take_while(|record| record.readable <= now).count();
        records.drain(..ready).collect()
    };
    let read = batch.len();
    deliver(world, batch).await;
    stream.unread.fetch_sub(read, Ordering::Relaxed);
}

/// Delivers a batch until it succeeds or is skipped. Later batches of the shard wait.
async fn deliver(world: &Arc<World>, batch: Vec<Insert>) {
    let settings = world.settings.stream;
    // Stack of batch parts, each with its number of counted failures. The first part is on top.
    let mut parts = vec![(batch, 0_u32)];
    let mut wait = RETRY.0;
    while let Some((mut part, failures)) = parts.pop() {
        let now = world.now();
        let read = part.len();
        part.retain(|record| now.since(record.written) <= settings.max_record_age);
        discard(world, read - part.len());
        if part.is_empty() {
            continue;
        }
        if invoke(world, &part).await {
            wait = RETRY.0;
            continue;
        }
        if part.len() > 1 {
            // Bisecting a batch does not count as a retry.
            world.chance.count(Fault::BatchBisected);
            let second = part.split_off(part.len() / 2);
            parts.push((second, failures));
            parts.push((part, failures));
        } else if failures < settings.retries {
            parts.push((part, failures + 1));
        } else {
            discard(world, part.len());
            continue;
        }
        pause(wait).await;
        wait = (2 * wait).min(RETRY.1);
    }
}

/// Invokes `trigger` with a batch. Returns whether it succeeded.
async fn invoke(world: &Arc<World>, batch: &[Insert]) -> bool {
    let event = Event {
        message_id: batch[0].event.clone(),
        reason: WakeReason::Insert,
    };
    let trigger = || world.functions.invoke(world, Function::Trigger, &event);
    let mut well = trigger().await;
    let kinds = [Fault::BatchRepeated];
    let repeated = world.chance.befalls(&kinds, world.now());
    if well == Ended::Returned && repeated.is_some() {
        well = trigger().await;
    }
    well == Ended::Returned
}

fn discard(world: &World, records: usize) {
    if records > 0 {
        world.chance.count(Fault::RecordsDiscarded);
        lock(&world.ledger).setback(world.now(), "records of the stream were skipped");
    }
}
