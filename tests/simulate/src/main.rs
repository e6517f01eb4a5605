//! `make simulate`: what happens under overload and in an outage. The real core (create, the
//! wake-ups, turns, sweeps) plays on a virtual clock with the store in memory; other disciplines
//! play against the same downstream. Every figure is decided by the seeds.
//!
//! Prints the figures and writes `target/simulate/overload.json`.

mod actors;
mod arrivals;
mod downstream;
mod experiments;
mod figures;
mod keys;
mod parallel;
mod queue;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::experiments::{Loads, Outages, Poisoned};
use crate::keys::Keys;

/// `overload.json`.
#[derive(Serialize)]
struct Overload {
    outage: Outages,
    poison: BTreeMap<String, BTreeMap<String, Poisoned>>,
    load: Loads,
    keys: Keys,
}

#[allow(clippy::print_stdout, reason = "the figures are what is asked for")]
fn main() -> Result<(), Box<dyn Error>> {
    let overload = Overload {
        outage: experiments::outages(),
        poison: experiments::poisoned(),
        load: experiments::loads(),
        keys: keys::ages(),
    };
    let json = serde_json::to_string_pretty(&overload)?;
    let folder = Path::new("target/simulate");
    fs::create_dir_all(folder)?;
    fs::write(folder.join("overload.json"), format!("{json}\n"))?;
    println!("{json}");
    println!("wrote target/simulate/overload.json");
    Ok(())
}
