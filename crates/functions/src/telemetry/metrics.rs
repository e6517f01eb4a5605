//! Metrics in CloudWatch's embedded metric format. CloudWatch extracts them from a log line, so
//! publishing them requires no API request
//! (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>).
//!
//! The functions use the `metrics` facade, so your own runner can add metrics with
//! `metrics::counter!`. They appear together with the queue's metrics.

use std::io::{self, Write};
use std::time::SystemTime;

use aws_smithy_types::date_time::{DateTime, Format};
use lifo_queue::create::CreateReport;
use lifo_queue::ingest::IngestReport;
use lifo_queue::process::{Exit, TurnSummary};
use lifo_queue::shed::ShedReport;
use lifo_queue::sweep::{FailedSweep, SweepReport};
use lifo_queue::wake::Wake;
use metrics_cloudwatch_embedded::{Builder, Collector};

pub const NAMESPACE: &str = "freshq";

/// The only dimension of the metrics: the name of the task table.
pub const DIMENSION: &str = "Queue";

macro_rules! counters {
    ($all:ident: $($name:ident = $text:literal: $meaning:literal,)*) => {
        $(
            #[doc = $meaning]
            pub const $name: &str = $text;
        )*
        /// Names of all metrics of this kind of queue.
        pub const $all: &[&str] = &[$($name),*];
    };
}

#[cfg(feature = "agents")]
pub mod agents;

counters! {
    NAMES:
    TAKEN = "Taken": "Tasks taken.",
    SUCCEEDED = "Succeeded": "Tasks settled as SUCCESS.",
    FAILED = "Failed": "Tasks settled as FAILURE.",
    RETRIED = "Retried": "Tasks returned after an attempt that counts.",
    BUSY = "Busy": "Tasks returned because the downstream was busy.",
    UNAVAILABLE = "Unavailable": "Tasks returned because the downstream was unavailable, without counting an attempt.",
    PROBES = "Probes": "Starts while the circuit breaker was open.",
    CONCURRENCY_LIMIT = "ConcurrencyLimit": "Tasks that may run concurrently at the end of a turn; 1 while the circuit breaker is open.",
    BREAKER_OPEN = "BreakerOpen": "Turns that ended with an open circuit breaker; has an alarm.",
    OVERLOADED_SECONDS = "OverloadedSeconds": "How long the queue was overloaded and only new tasks started.",
    LOST_RACES = "LostRaces": "Takes and settlements in which another writer was faster.",
    EMPTY_POLLS = "EmptyPolls": "Passes over the index that found nothing to take: spare capacity.",
    TAIL_CALLS = "TailCalls": "Turns that ended with a tail call.",
    QUEUE_PAUSED = "QueuePaused": "Turns that ended and sweeps that ran while the queue was paused; has an alarm.",
    IDLE_BOUND_REACHED = "IdleBoundReached": "Turns that ended without a tail call because too many consecutive turns settled nothing; has an alarm.",
    TASKS_CREATED = "TasksCreated": "Tasks created.",
    TASKS_DUPLICATE = "TasksDuplicate": "Tasks that existed already.",
    TASKS_SUPERSEDED = "TasksSuperseded": "States of keys that a newer one replaced before a run settled them.",
    CREATE_FAILED = "CreateFailed": "Tasks that were not created.",
    WAKE_UPS_PUBLISHED = "WakeUpsPublished": "Notifications published, tail calls not included.",
    LEASES_RETURNED = "LeasesReturned": "Tasks returned to PENDING after their lease expired.",
    LEASES_FAILED = "LeasesFailed": "Tasks that became FAILURE because their last lease expired.",
    TASKS_ADOPTED = "TasksAdopted": "Direct writers' tasks whose `ttl` was set or corrected.",
    SWEEP_ERRORS = "SweepErrors": "Tasks that a sweep could not change; the next sweep tries again.",
    SWEEPS = "Sweeps": "Completed sweeps: an alarm if there are none.",
    PENDING_TASKS = "PendingTasks": "Pending tasks, expired ones not counted; exact up to 10,000.",
    PENDING_TASKS_CAPPED = "PendingTasksCapped": "1 if `PendingTasks` is a lower bound.",
    TAKEN_TASKS = "TakenTasks": "Live and expired leases.",
    OLDEST_PENDING_SECONDS = "OldestPendingSeconds": "Age of the oldest pending task, in seconds; has an alarm.",
    SHED_TASKS = "ShedTasks": "Tasks that DynamoDB deleted while they were PENDING or TAKEN, that had expired before they were written, or that had expired when a newer state of their key replaced them.",
    TASKS_NOT_ADMITTED = "TasksNotAdmitted": "Tasks of the ingest queue that admission shed before the first write; has an alarm. `ShedTasks` counts them too.",
    INGEST_REJECTED = "IngestRejected": "Invalid tasks and messages of the ingest queue, sent to its dead-letter queue.",
    INGEST_RETURNED = "IngestReturned": "Messages of the ingest queue to be redelivered, because a part of them could not be written.",
}

pub struct Metrics {
    collector: &'static Collector,
    level: String,
}

impl Metrics {
    /// Installs the metrics recorder for the whole process. `table` is the task table of the queue.
    pub fn install(table: &str) -> Result<Self, AlreadyInstalled> {
        let collector = Builder::new()
            .cloudwatch_namespace(NAMESPACE)
            .with_dimension(DIMENSION, table.to_owned())
            .init()
            .map_err(|error| AlreadyInstalled(error.to_string()))?;
        for name in NAMES {
            ::metrics::describe_counter!(*name, ::metrics::Unit::Count, "");
        }
        for name in [
            PENDING_TASKS,
            PENDING_TASKS_CAPPED,
            TAKEN_TASKS,
            CONCURRENCY_LIMIT,
        ] {
            ::metrics::describe_gauge!(name, ::metrics::Unit::Count, "");
        }
        ::metrics::describe_gauge!(OLDEST_PENDING_SECONDS, ::metrics::Unit::Seconds, "");
        ::metrics::describe_counter!(OVERLOADED_SECONDS, ::metrics::Unit::Seconds, "");
        #[cfg(feature = "agents")]
        agents::describe();
        Ok(Self {
            collector,
            level: super::level(),
        })
    }

    /// Adds this result to the metrics, writes all metrics since the last call to standard output
    /// as one line, and resets them.
    pub fn emit(&self, counted: &impl Counted) {
        count(counted);
        if let Err(error) = self.write(io::stdout().lock()) {
            tracing::warn!(%error, "metrics not written");
        }
    }

    fn write(&self, mut out: impl Write) -> io::Result<()> {
        // Lambda log-level filtering requires a level and a timestamp in each line. Without them,
        // it assumes INFO, and a function set to WARN would lose its metrics and alarms.
        let now = DateTime::from(SystemTime::now());
        if let Ok(now) = now.fmt(Format::DateTime) {
            self.collector.set_property("timestamp", now);
        }
        self.collector.set_property("level", self.level.as_str());
        // Write the line in one call, so that no other log line is interleaved with it.
        let mut line = Vec::with_capacity(1024);
        self.collector.flush(&mut line)?;
        out.write_all(&line)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be installed: {0}")]
pub struct AlreadyInstalled(String);

/// A result that is reported as metrics.
pub trait Counted {
    /// Returns the name and the increase of each counter.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

fn count(counted: &impl Counted) {
    for (name, by) in counted.counts() {
        if by > 0 {
            ::metrics::counter!(name).increment(by);
        }
    }
    for (name, value) in counted.gauges() {
        ::metrics::gauge!(name).set(value);
    }
}

impl Counted for TurnSummary {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (TAKEN, self.taken.into()),
            (SUCCEEDED, self.succeeded.into()),
            (FAILED, self.failed.into()),
            (RETRIED, self.retried.into()),
            (BUSY, self.busy.into()),
            (UNAVAILABLE, self.unavailable.into()),
            (TASKS_SUPERSEDED, self.superseded.into()),
            (PROBES, self.probes.into()),
            (BREAKER_OPEN, self.breaker_open.into()),
            (OVERLOADED_SECONDS, self.overloaded_ms.div_ceil(1_000)),
            (LOST_RACES, self.lost_races.into()),
            (EMPTY_POLLS, self.empty_polls.into()),
            (TAIL_CALLS, self.tail_call.into()),
            (QUEUE_PAUSED, (self.exit == Exit::Paused).into()),
            (IDLE_BOUND_REACHED, (self.exit == Exit::NoProgress).into()),
        ]
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        // A turn that could not start tasks has no limit.
        let limit = Some(self.limit).filter(|limit| *limit > 0);
        let limit = limit.map(|limit| (CONCURRENCY_LIMIT, limit.into()));
        limit.into_iter().collect()
    }
}

impl Counted for CreateReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (TASKS_CREATED, self.created.len() as u64),
            (TASKS_DUPLICATE, self.duplicates.len() as u64),
            (TASKS_SUPERSEDED, self.superseded()),
            (CREATE_FAILED, self.failed.len() as u64),
        ]
    }
}

impl Counted for SweepReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (WAKE_UPS_PUBLISHED, self.woke.into()),
            (LEASES_RETURNED, self.returned.into()),
            (TASKS_SUPERSEDED, self.superseded.into()),
            (LEASES_FAILED, self.failed.into()),
            (TASKS_ADOPTED, self.adopted.into()),
            (FAILED, self.quarantined.into()),
            (SWEEP_ERRORS, self.errors.into()),
            (SWEEPS, 1),
            // A paused queue runs no turns. Without this count, the alarm would clear after the
            // last turn.
            (QUEUE_PAUSED, self.paused.into()),
        ]
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let seconds = self.oldest_pending_ms.unwrap_or(0) as f64 / 1_000.0;
        vec![
            (PENDING_TASKS, self.pending.count.into()),
            (
                PENDING_TASKS_CAPPED,
                f64::from(u8::from(!self.pending.exact)),
            ),
            (TAKEN_TASKS, self.taken.count.into()),
            (OLDEST_PENDING_SECONDS, seconds),
        ]
    }
}

/// Counts the changes of a failed sweep. Omits gauges, because they may be incomplete, and does not
/// count the sweep in `Sweeps`.
impl Counted for FailedSweep {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.report.counts();
        counts.retain(|(name, _)| *name != SWEEPS);
        counts
    }
}

impl Counted for ShedReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![(SHED_TASKS, self.counted())]
    }
}

impl Counted for IngestReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (TASKS_CREATED, self.created),
            (TASKS_DUPLICATE, self.duplicates),
            (TASKS_SUPERSEDED, self.superseded),
            (SHED_TASKS, self.shed.counted()),
            (TASKS_NOT_ADMITTED, self.shed.not_admitted.into()),
            (INGEST_REJECTED, self.rejected),
            (INGEST_RETURNED, self.returned.len() as u64),
        ]
    }
}

impl Counted for Wake {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![(WAKE_UPS_PUBLISHED, (*self == Self::Published).into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// This module has only one test, because a process can have only one recorder.
    #[test]
    fn summary_is_written_as_one_line_in_embedded_metric_format() {
        let metrics = Metrics::install("tasks").unwrap();
        let summary = TurnSummary {
            exit: Exit::Paused,
            taken: 3,
            succeeded: 2,
            retried: 1,
            ..TurnSummary::default()
        };
        count(&summary);
        let mut out = Vec::new();
        metrics.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Namespace"], "freshq");
        assert_eq!(directive["Dimensions"], json!([["Queue"]]));
        assert_eq!(line["Queue"], "tasks");
        let counted: Vec<_> = ["Taken", "Succeeded", "Retried", "QueuePaused"]
            .map(|name| line[name].as_u64())
            .into();
        assert_eq!(counted, [Some(3), Some(2), Some(1), Some(1)]);
        let declared = directive["Metrics"].as_array().unwrap();
        assert_eq!(declared.len(), 4, "zeros are omitted");
        assert!(
            declared.iter().all(|metric| metric["Unit"] == "Count"),
            "{declared:?}"
        );
        assert_eq!(line["level"], "INFO");
        let timestamp = line["timestamp"].as_str().unwrap();
        assert!(
            DateTime::from_str(timestamp, Format::DateTime).is_ok(),
            "{timestamp}"
        );

        let mut again = Vec::new();
        metrics.write(&mut again).unwrap();
        assert!(again.is_empty(), "what was written is forgotten");
        assert!(Metrics::install("tasks").is_err());
    }
}
