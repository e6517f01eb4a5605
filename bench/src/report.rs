//! Runs all measurements and prints the tables.

use std::time::Duration;

use simulator::units;

use crate::process::{Figures, Server, run};
use crate::runtime::in_virtual_time;
use crate::table::{Lines as _, median, table};
use crate::takes::{self, Downstream};
use crate::{Arguments, Error, agents, cold_start, ingest};

const COLD_STARTS: usize = 21;

pub(crate) fn run_all(arguments: &Arguments) -> Result<(), Error> {
    let turns = (0..arguments.runs.max(1)).map(|_| {
        // Start a new server per run.
        run::<Figures>(arguments, "turn", &Server::start()?.address)
    });
    print_turn(arguments, &turns.collect::<Result<Vec<_>, Error>>()?);
    print_takes(arguments)?;
    print_units()?;
    if let Some(bootstrap) = &arguments.cold_start {
        let starts: Result<Vec<_>, _> = (0..COLD_STARTS)
            .map(|_| cold_start::measure(bootstrap))
            .collect();
        print_cold_start(&starts?);
    }
    if let Some(bootstrap) = &arguments.ingest {
        ingest::measure(arguments, bootstrap)?;
    }
    agents::run(arguments)
}

fn print_turn(arguments: &Arguments, turns: &[Figures]) {
    let tasks = f64::from(arguments.tasks);
    let rate = tasks / median(turns.iter().map(|turn| turn.seconds));
    let calls: u32 = turns[0].calls.values().sum();
    let peak = turns.iter().map(|turn| turn.peak_memory_kib).max();

    let mut table = table(&format!(
        "one turn over {} tasks, {} slots, a runner that costs nothing ({} runs, medians)",
        arguments.tasks,
        arguments.slots,
        turns.len()
    ));
    table.line("tasks/s", format!("{rate:.0}"), "");
    let a_task = f64::from(calls) / tasks;
    table.line("calls a task", format!("{a_task:.3}"), "<= 2.2");
    for (kind, count) in &turns[0].calls {
        let each = f64::from(*count) / tasks;
        table.line(&format!("  {kind}"), format!("{each:.3}"), "");
    }
    let mib = peak.unwrap_or(0) as f64 / 1024.0;
    table.line("peak memory", format!("{mib:.1} MiB"), "< 40 MiB");
    println!("{table}");
}

/// Prints the write units of a task's transitions, by payload size.
fn print_units() -> Result<(), Error> {
    let mut table = table("write units of a task: create, take, return, settle");
    for payload in [100, 4_000, 50_000, 300_000] {
        let units = in_virtual_time(0, units::of_transitions(payload))?;
        let measured = [units.create, units.take, units.return_task, units.settle];
        let measured = measured.map(|units| units.to_string()).join(", ");
        table.line(&format!("a payload of {payload} bytes"), measured, "");
    }
    println!("{table}");
    Ok(())
}

fn print_takes(arguments: &Arguments) -> Result<(), Error> {
    let mut table = table(&format!(
        "takes over {} tasks, {} slots, on a virtual clock",
        arguments.tasks, arguments.slots
    ));
    for (what, downstream, aim) in [
        // Each poison task has five attempts, so nine completed tasks require 9 + 5 takes.
        ("one poison task in ten", Downstream::Poison, "1.56"),
        (
            "a runner busy half of the time",
            Downstream::BusyHalfOfTheTime,
            "",
        ),
    ] {
        let takes = takes::measure(arguments, downstream)?;
        let each = f64::from(takes.taken) / f64::from(takes.succeeded);
        let measured = format!("{each:.2} takes a completed task");
        table.line(what, measured, aim);
        let ends = format!(
            "{} SUCCESS, {} FAILURE in {} turns",
            takes.succeeded, takes.failed, takes.turns
        );
        table.line("", ends, "");
    }
    println!("{table}");
    Ok(())
}

fn print_cold_start(starts: &[Duration]) {
    let millis = || starts.iter().map(|start| start.as_secs_f64() * 1000.0);
    let mut table = table(&format!(
        "cold start of the release binary ({} starts)",
        starts.len()
    ));
    let usual = format!("{:.1} ms", median(millis()));
    table.line("exec to first next, median", usual, "< 15 ms");
    let best = millis().fold(f64::INFINITY, f64::min);
    table.line("the quickest", format!("{best:.1} ms"), "");
    println!("{table}");
}
