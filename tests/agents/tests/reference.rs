//! The queue on every store behaves like the reference.
//!
//! Each test prints its counts. `FRESHQ_SOAK=1` runs ten times as many sequences. The seeds of
//! failures are kept in `reference.regressions` next to this file and run first.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;

use agent_queue::store::memory::MemoryStore;
use agents::reference::hold::hold;
use agents::reference::rule::Rule;
use agents::reference::subject::{Seen, Subject};
use agents::{embedded, store_of};
use sequences::{Figures, Plan};
use simulator::engine::Engine;
use tokio::runtime::{Builder, Runtime};

/// Entries per read. There are more agents than this, so some requests need a second read.
const PAGE: u16 = 3;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn report(store: &str, outcome: Result<Figures<Rule>, String>) -> Figures<Rule> {
    let figures = outcome.unwrap_or_else(|counterexample| panic!("{counterexample}"));
    println!("{store}: {figures}");
    figures
}

#[test]
fn agent_queue_in_memory_behaves_like_the_reference() {
    let fresh = async |order| {
        let store = Arc::new(MemoryStore::new());
        Ok(Subject::new(store, Seen::ByStore, order, PAGE))
    };
    let plan = Plan::new(2_000, 40, 4, file!());
    let figures = report("memory", hold(&plan, &runtime(), fresh));
    assert_eq!(figures.unused(), [""; 0], "rules that never applied");
}

#[test]
fn agent_queue_on_dynamodb_behaves_like_the_reference() {
    let fresh = async |order| {
        let client = embedded();
        let store = Arc::new(store_of(client.clone()));
        Ok(Subject::new(store, Seen::ByScan(client), order, PAGE))
    };
    let sequences = Engine::start().unwrap().sequences(100);
    let plan = Plan::new(sequences, 50, 1, file!());
    let figures = report("dynamodb", hold(&plan, &runtime(), fresh));
    // A small number of sequences may miss rare rules, and DynamoDB Local runs still fewer.
    let missing = 6 * 100 / sequences as usize;
    assert!(figures.unused().len() <= missing, "{:?}", figures.unused());
}
