//! Simulation figures.

use std::time::Duration;

use lifo_queue::time::Millis;
use serde::Serialize;

use crate::downstream::Outage;

/// Maximum time from creation to success for a task to be in time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum time from creation to start for a task to start fresh.
const FRESH: Duration = Duration::from_secs(2);

/// One call to the downstream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) created: Millis,
    pub(crate) started: Millis,
    pub(crate) ended: Millis,
    pub(crate) success: bool,
    pub(crate) poison: bool,
}

impl Run {
    fn in_time(&self) -> bool {
        self.success && self.ended <= self.created.plus(DEADLINE)
    }

    fn started_fresh(&self) -> bool {
        self.success && self.started <= self.created.plus(FRESH)
    }
}

/// The result of an experiment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    /// Creation time of each task.
    pub(crate) created: Vec<Millis>,
    pub(crate) runs: Vec<Run>,
    /// Number of tasks that ended in FAILURE.
    pub(crate) failed: usize,
}

/// Ages at the start of successful runs, and the share of all tasks that were in time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Load {
    pub(crate) p50_age_seconds: f64,
    pub(crate) p99_age_seconds: f64,
    pub(crate) in_time: f64,
    /// Share of the created tasks whose successful run started within two seconds.
    pub(crate) started_in_2s: f64,
    /// Number of successes per second.
    pub(crate) goodput: f64,
}

impl Load {
    /// Calculates the figures for the tasks created and the runs started between `from` and `to`.
    pub(crate) fn of(played: &Played, from: Millis, to: Millis) -> Self {
        let within = |at: Millis| from <= at && at < to;
        let mut ages: Vec<f64> = played
            .runs
            .iter()
            .filter(|run| run.success && within(run.started))
            .map(|run| run.started.since(run.created).as_secs_f64())
            .collect();
        ages.sort_by(f64::total_cmp);
        Self {
            p50_age_seconds: rounded(percentile(&ages, 50)),
            p99_age_seconds: rounded(percentile(&ages, 99)),
            in_time: rounded(share_in_time(played, from, to)),
            started_in_2s: rounded(share(played, from, to, Run::started_fresh)),
            goodput: rounded(ratio(ages.len(), 1) / to.since(from).as_secs_f64()),
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OutageFigures {
    /// Number of tasks that ended in FAILURE.
    pub(crate) failed: usize,
    /// Number of tasks created during the outage.
    pub(crate) tasks: usize,
    /// Number of calls to the downstream during the outage.
    pub(crate) calls: usize,
    /// Seconds from the end of the outage to the end of the first success.
    pub(crate) recovery_seconds: f64,
    /// Share of the tasks created in the minute after the outage that were in time.
    pub(crate) in_time_next_minute: f64,
}

impl OutageFigures {
    pub(crate) fn of(played: &Played, outage: Outage) -> Self {
        let during = |at| outage.contains(at);
        let first = played
            .runs
            .iter()
            .filter(|run| run.success && run.started >= outage.to)
            .map(|run| run.ended)
            .min();
        let minute = outage.to.plus(Duration::from_secs(60));
        Self {
            failed: played.failed,
            tasks: played.created.iter().filter(|at| during(**at)).count(),
            calls: played.runs.iter().filter(|run| during(run.started)).count(),
            recovery_seconds: first.map_or(f64::INFINITY, |at| {
                rounded(at.since(outage.to).as_secs_f64())
            }),
            in_time_next_minute: rounded(share_in_time(played, outage.to, minute)),
        }
    }

    /// Returns the worse value of each figure.
    pub(crate) fn worst(self, other: Self) -> Self {
        Self {
            failed: self.failed.max(other.failed),
            tasks: self.tasks.max(other.tasks),
            calls: self.calls.max(other.calls),
            recovery_seconds: self.recovery_seconds.max(other.recovery_seconds),
            in_time_next_minute: self.in_time_next_minute.min(other.in_time_next_minute),
        }
    }
}

/// Returns the share of the tasks created between `from` and `to` that were in time.
fn share_in_time(played: &Played, from: Millis, to: Millis) -> f64 {
    share(played, from, to, Run::in_time)
}

/// Returns the share of tasks created between `from` and `to` with a run that `counts` accepts.
fn share(played: &Played, from: Millis, to: Millis, counts: fn(&Run) -> bool) -> f64 {
    let within = |at: Millis| from <= at && at < to;
    let created = played.created.iter().filter(|at| within(**at)).count();
    let runs = played
        .runs
        .iter()
        .filter(|run| within(run.created) && counts(run))
        .count();
    ratio(runs, created.max(1))
}

pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Rounds to three decimal places.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(created: i64, started: i64, success: bool) -> Run {
        Run {
            created: Millis(created),
            started: Millis(started),
            ended: Millis(started + 400),
            success,
            poison: false,
        }
    }

    #[test]
    fn a_task_is_in_time_by_the_end_of_its_successful_run() {
        let played = Played {
            created: vec![Millis(0), Millis(1), Millis(2), Millis(3)],
            runs: vec![run(0, 4_600, true), run(1, 4_602, true), run(2, 100, false)],
            failed: 0,
        };
        let load = Load::of(&played, Millis(0), Millis(10_000));
        assert!((load.in_time - 0.25).abs() < f64::EPSILON, "{load:?}");
        assert!((load.p99_age_seconds - 4.601).abs() < 1e-9, "{load:?}");
    }

    #[test]
    fn recovery_is_counted_from_the_end_of_the_outage() {
        let played = Played {
            created: vec![Millis(1_500), Millis(2_500)],
            runs: vec![
                run(0, 500, true),
                run(1_500, 1_600, false),
                run(2_500, 3_000, true),
            ],
            failed: 1,
        };
        let outage = Outage {
            from: Millis(1_000),
            to: Millis(2_000),
            kind: crate::downstream::Kind::BadGateway,
        };
        let figures = OutageFigures::of(&played, outage);
        assert_eq!((figures.calls, figures.tasks, figures.failed), (1, 1, 1));
        assert!((figures.recovery_seconds - 1.4).abs() < 1e-9, "{figures:?}");
    }
}
