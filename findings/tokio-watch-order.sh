#!/usr/bin/env bash
# Tasks that wait for the same value of a tokio::sync::watch channel wake in a random order, even on a runtime with one
# thread and a paused clock, which tests use to replay a run. One would expect the order in which they began to wait, as
# with tokio::sync::Notify. So a simulation with a fixed seed is not repeatable if two tasks share a watch channel.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "order"
edition = "2021"

[dependencies]
tokio = { version = "=1.54.1", default-features = false, features = ["macros", "rt", "sync", "test-util", "time"] }
TOML
cat >src/main.rs <<'RUST'
use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio::sync::{watch, Notify};

/// Starts 16 tasks that wait, then wakes all of them, and returns the order in which they woke.
fn woken<W: Future<Output = ()> + Send + 'static>(wait: impl Fn() -> W, wake: impl FnOnce()) -> Vec<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for number in 0..16 {
            let (waits, order) = (wait(), order.clone());
            tasks.push(tokio::spawn(async move {
                waits.await;
                order.lock().unwrap().push(number);
            }));
        }
        tokio::task::yield_now().await;
        wake();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let order = order.lock().unwrap();
    order.clone()
}

fn main() {
    let started: Vec<u32> = (0..16).collect();
    for run in 1..=5 {
        let (sender, receiver) = watch::channel(false);
        let order = woken(
            || {
                let mut receiver = receiver.clone();
                async move { receiver.changed().await.unwrap() }
            },
            || sender.send(true).unwrap(),
        );
        println!("run {run}, watch:  {order:?}");
        assert_ne!(order, started, "watch keeps the order now");
        let notify = Arc::new(Notify::new());
        let order = woken(
            || {
                let notify = notify.clone();
                async move { notify.notified().await }
            },
            || notify.notify_waiters(),
        );
        println!("run {run}, Notify: {order:?}");
        assert_eq!(order, started, "Notify doesn't keep the order now");
    }
}
RUST
cargo run --quiet
echo "tokio 1.54.1: watch wakes waiting tasks in a random order, Notify in the order in which they began to wait"
