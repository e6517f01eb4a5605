//! Implements `make simulate`, which simulates the queue under overload and in outages. The real
//! core (create, wake-ups, turns, sweeps) runs on a virtual clock with the in-memory store. Other
//! queue disciplines run against the same downstream. The seeds determine every figure.
//!
//! Prints the figures, and writes `slots.json`, `health.json`, `overload.json`, `storm.json` and
//! `groups.json` to `target/simulate`, the page `docs/reference/storms.md`, and the charts to `docs/img`.

mod actors;
mod arrivals;
mod downstream;
mod experiments;
mod figures;
mod groups;
mod health;
mod keys;
mod parallel;
mod pictures;
mod queue;
mod slots;
mod storm;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::experiments::{Halved, Loads, Outages, Poisoned};
use crate::keys::Keys;

/// Content of `overload.json`.
#[derive(Serialize)]
struct Overload {
    outage: Outages,
    poison: BTreeMap<String, BTreeMap<String, Poisoned>>,
    load: Loads,
    /// Figures for a downstream that loses half of its capacity, with and without a target latency.
    halved: BTreeMap<String, Halved>,
    keys: Keys,
}

#[allow(clippy::print_stdout, reason = "the figures are what is asked for")]
fn main() -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    write("slots.json", &slots::cases())?;
    write("health.json", &health::scenes())?;
    if std::env::var("FRESHQ_SCENE").is_ok() {
        return Ok(());
    }
    let groups = groups::groups();
    write("groups.json", &groups)?;
    let overload = Overload {
        outage: experiments::outages(),
        poison: experiments::poisoned(),
        load: experiments::loads(),
        halved: experiments::halved(),
        keys: keys::ages(),
    };
    write("overload.json", &overload)?;
    let storm = storm::storms();
    write("storm.json", &storm)?;
    fs::write("docs/reference/storms.md", storm::page(&storm))?;
    let images = Path::new("docs/img");
    let (arrival, newest) = experiments::burst();
    pictures::write(
        images,
        &overload.load,
        &overload.outage,
        &overload.keys,
        &storm,
        &groups,
        (&arrival, &newest),
    )?;
    let seconds = began.elapsed().as_secs();
    println!("wrote docs/reference/storms.md and the pictures in docs/img, in {seconds} s");
    Ok(())
}

/// Prints figures and writes them to a file in `target/simulate`.
#[allow(clippy::print_stdout, reason = "the figures are what is asked for")]
fn write(file: &str, figures: &impl Serialize) -> Result<(), Box<dyn Error>> {
    let folder = Path::new("target/simulate");
    fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(figures)?;
    println!("{text}");
    fs::write(folder.join(file), format!("{text}\n"))?;
    Ok(())
}
