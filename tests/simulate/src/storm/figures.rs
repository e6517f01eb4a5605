//! Storm figures.

use std::time::Duration;

use serde::Serialize;
use simulator::cloud::BEGIN;

use super::load::Load;
use super::play::{Stormed, Tally};
use crate::figures::{Played, Run, percentile, rounded};

/// Write units on the table and index for an insert, and for a take plus a settlement.
const INSERT_UNITS: u64 = 2;
const RUN_UNITS: u64 = 6;
/// Exclusive age limit for a task to count as new at its start, in seconds.
const NEW_SECONDS: f64 = 2.0;
/// Time after a burst from which on new tasks are measured.
const CAUGHT_UP: Duration = Duration::from_secs(15);

/// Figures for a burst.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Burst {
    /// Ratio of successful runs to the runs that the downstream could complete.
    pub(super) goodput: f64,
    /// Time from the end of the burst until a task that was sent later starts within two seconds.
    pub(super) caught_up_seconds: Option<f64>,
    /// Median age at the start of tasks sent from 15 seconds after the burst on, including tasks that
    /// did not start.
    p50_age_of_new_seconds: f64,
    pub(super) p95_age_of_new_seconds: f64,
    pub(super) receives_per_message: f64,
}

impl Burst {
    /// Calculates the figures. The first phase of the load must be the burst.
    pub(super) fn of((played, tally): &Stormed, load: &Load) -> Self {
        let burst = BEGIN.plus(load.phases[0].1);
        let (begin, end) = (burst.plus(CAUGHT_UP), BEGIN.plus(load.lasts()));
        let in_time = |run: &&Run| run.created >= burst && age(run) < NEW_SECONDS;
        let first = played.runs.iter().filter(in_time).map(|run| run.started);
        let caught_up = first.min().map(|at| rounded(at.since(burst).as_secs_f64()));
        let mut ages = ages(played, |run| run.created >= begin);
        // Tasks that never started count as oldest. Tasks from the last two seconds may still start.
        let recent = end.minus(Duration::from_secs(2));
        let created = played.created.iter();
        let new = created.filter(|at| (begin..recent).contains(at)).count();
        ages.resize(ages.len().max(new), end.since(begin).as_secs_f64());
        let possible = f64::from(load.runs) * load.lasts().as_secs_f64();
        Self {
            goodput: rounded(played.runs.len() as f64 / possible),
            caught_up_seconds: caught_up,
            p50_age_of_new_seconds: rounded(percentile(&ages, 50)),
            p95_age_of_new_seconds: rounded(percentile(&ages, 95)),
            receives_per_message: rounded(tally.receives as f64 / played.created.len() as f64),
        }
    }
}

/// Figures for the second half of a sustained load.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sustained {
    pub(super) goodput: f64,
    /// Share of the started tasks that were less than two seconds old.
    pub(super) under_2s: f64,
    pub(super) p99_age_seconds: f64,
    /// Write units of inserts, takes, settlements and the meter, per second.
    pub(super) write_units: f64,
    /// Write units per second if every arriving task were inserted.
    pub(super) write_units_if_all_inserted: f64,
    /// Share of tasks that were not admitted, among the tasks that were written or not admitted.
    pub(super) shed: f64,
}

impl Sustained {
    pub(super) fn of((played, tally): &Stormed, load: &Load) -> Self {
        let half = BEGIN.plus(load.lasts() / 2);
        let seconds = load.lasts().as_secs_f64() / 2.0;
        let runs = played.runs.iter().filter(|run| run.started >= half).count() as u64;
        let arrivals = played.created.iter().filter(|at| **at >= half).count() as u64;
        let units = |inserts| INSERT_UNITS * inserts + RUN_UNITS * runs + tally.meter_updates;
        let ages = ages(played, |run| run.started >= half);
        let under = ages.iter().filter(|age| **age < NEW_SECONDS).count();
        let Tally {
            inserts, shed_late, ..
        } = *tally;
        Self {
            goodput: rounded(runs as f64 / (f64::from(load.runs) * seconds)),
            under_2s: rounded(under as f64 / ages.len().max(1) as f64),
            p99_age_seconds: rounded(percentile(&ages, 99)),
            write_units: rounded(units(inserts) as f64 / seconds),
            write_units_if_all_inserted: rounded(units(arrivals) as f64 / seconds),
            shed: rounded(shed_late as f64 / (shed_late + inserts).max(1) as f64),
        }
    }
}

fn age(run: &Run) -> f64 {
    run.started.since(run.created).as_secs_f64()
}

/// Returns the task ages at the start of these runs, in seconds, ascending.
fn ages(played: &Played, wanted: impl Fn(&Run) -> bool) -> Vec<f64> {
    let runs = played.runs.iter().filter(|run| wanted(run));
    let mut ages: Vec<f64> = runs.map(age).collect();
    ages.sort_by(f64::total_cmp);
    ages
}
