//! Every store behaves like the reference queue.
//!
//! Each test prints its counts. `FRESHQ_SOAK=1` runs ten times as many sequences. The seeds of
//! failures are kept in `stores.regressions` next to this file and run first.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::cell::Cell;

use lifo_queue::store::memory::MemoryStore;
use reference::hold::hold;
use reference::operation::Rule;
use reference::subject::dynamodb::Table;
use sequences::{Figures, Plan};
use simulator::engine::Engine;
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn report(store: &str, outcome: Result<Figures<Rule>, String>) {
    let figures = outcome.unwrap_or_else(|counterexample| panic!("{counterexample}"));
    println!("{store}: {figures}");
    assert_eq!(figures.unused(), [""; 0], "rules that never applied");
}

#[test]
fn memory_store_behaves_like_the_reference_queue() {
    let fresh = async || Ok(MemoryStore::new());
    let plan = Plan::new(2_000, 60, 4, file!());
    report("memory", hold(&plan, &runtime(), fresh));
}

#[test]
fn dynamodb_store_behaves_like_the_reference_queue() {
    let runtime = runtime();
    let engine = Engine::start().unwrap();
    let tables = Cell::new(0);
    let fresh = async || {
        tables.set(tables.get() + 1);
        Table::create(&engine, format!("sequence-{}", tables.get()))
    };
    let plan = Plan::new(engine.sequences(150), 60, 4, file!());
    report("dynamodb", hold(&plan, &runtime, fresh));
}
