//! A workload, and the requests and capacity units that it consumes.

use std::time::Duration;

use clap::Args;

use crate::time_format::parse_duration;

/// Size of a PENDING item's attributes without the payload, in bytes.
const PENDING_BYTES: u32 = 260;
/// Size of a TAKEN or settled item's attributes without the payload, in bytes.
const TAKEN_BYTES: u32 = 360;
/// Size of a write unit, in bytes.
const KIB: u32 = 1_024;
/// Size of the chunks by which SQS bills a request, in bytes.
const SQS_CHUNK: u32 = 64 * 1_024;
/// Maximum size of a request with multiple messages, in bytes.
const SQS_REQUEST: u32 = 1_024 * KIB;
/// Size of a message's fields without the payload, in bytes.
const MESSAGE_BYTES: u32 = 100;
/// Memory of the functions in GB: `processing.memory` and `ingest.memory` by default.
const MEMORY: f64 = 0.25;
/// Time in seconds that `ingest-tasks` takes per task that it writes (docs/explanation/scaling.md).
const INGEST_SECONDS: f64 = 0.002;
/// Time in seconds that `ingest-tasks` takes per message that it only receives and deletes or
/// postpones, in three requests per ten messages.
const POSTPONE_SECONDS: f64 = 0.0007;
/// Maximum number of write units per second for pending tasks, in one partition of the index.
const INDEX_UNITS: f64 = 1_000.0;
/// Maximum number of times that a message is postponed: `ingest.maxReceiveCount` by default, less
/// the first receive.
const POSTPONEMENTS: f64 = 9.0;
/// Maximum number of messages that are in flight, and the minimum mean time in seconds for which a
/// postponed message is. Both limit the postponements per second.
const IN_FLIGHT: f64 = 120_000.0;
const POSTPONED_SECONDS: f64 = 22.5;
/// Minimum time in seconds between tasks of separate activations. A processor waits for the index.
const LINGER_SECONDS: f64 = 2.2;
/// Duration of a turn in seconds: `processing.turn` by default.
const TURN_SECONDS: f64 = 60.0;
/// Maximum number of times per second that a processor reads the head of the index.
const READS_PER_SECOND: f64 = 10.0;
/// Maximum number of entries in the head of the index.
const HEAD: f64 = 100.0;
/// Size of an index entry in bytes.
const ENTRY_BYTES: f64 = 115.0;
/// Number of times per second that Lambda reads a shard of the table's stream.
const STREAM_READS_PER_SECOND: f64 = 4.0;
/// Maximum number of records in a batch of the stream.
const STREAM_BATCH: f64 = 100.0;
/// Maximum number of write units per second per stream shard.
const SHARD_UNITS: f64 = 1_000.0;

/// What producers send, and what the downstream takes.
#[derive(Clone, Debug, Args)]
pub(super) struct Load {
    /// Number of tasks that producers send
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) tasks: u64,
    /// Time over which producers send the tasks, at a constant rate
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_duration)]
    pub(super) over: Duration,
    /// Size of a payload in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=390_000))]
    pub(super) payload: u32,
    /// Messages per request to the ingest queue; 0 if tasks are not sent through SQS
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10))]
    pub(super) batch: u32,
    /// Duration of one run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(super) run_time: Duration,
    /// Maximum number of concurrent tasks (processing.concurrency)
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=900))]
    pub(super) concurrency: u32,
    /// Average number of attempts per task that runs
    #[arg(long, value_name = "COUNT", default_value_t = 1.0, value_parser = at_least_one)]
    pub(super) attempts: f64,
    /// Maximum runs per second that the downstream takes; the other tasks are shed
    #[arg(long, value_name = "RUNS", value_parser = positive)]
    pub(super) capacity: Option<f64>,
    /// With ingest.admission: inserted tasks for each run, while there are more
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, default_missing_value = "3", requires = "capacity", value_parser = at_least_one)]
    pub(super) admission: Option<f64>,
}

fn at_least_one(text: &str) -> Result<f64, String> {
    positive(text).and_then(|number| match number >= 1.0 {
        true => Ok(number),
        false => Err("it must be at least 1".to_owned()),
    })
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

/// Write units per task transition, in the table and in the index, as in `simulator::units`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TransitionUnits {
    pub(super) create: f64,
    /// Write units of one take, return or settlement.
    pub(super) change: f64,
}

impl TransitionUnits {
    /// Returns the write units of a task whose payload has this size in bytes.
    pub(super) fn of(payload: u32) -> Self {
        let table = |attributes: u32| f64::from((payload + attributes).div_ceil(KIB));
        Self {
            create: table(PENDING_BYTES) + 1.0,
            change: table(TAKEN_BYTES) + 2.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Billed {
    pub(super) what: &'static str,
    pub(super) count: f64,
    pub(super) price: &'static str,
}

fn billed(what: &'static str, count: f64, price: &'static str) -> Billed {
    Billed { what, count, price }
}

impl Load {
    pub(super) fn tasks(&self) -> f64 {
        self.tasks as f64
    }

    fn seconds(&self) -> f64 {
        self.over.as_secs_f64()
    }

    /// Returns the number of messages per SQS request, at most 1 MiB in total. `None` without SQS.
    fn batch(&self) -> Option<u32> {
        let fitting = SQS_REQUEST / (self.payload + MESSAGE_BYTES);
        (self.batch > 0).then(|| self.batch.min(fitting.max(1)))
    }

    pub(super) fn ran(&self) -> f64 {
        let most = self
            .capacity
            .map_or(f64::INFINITY, |runs| runs * self.seconds());
        self.tasks().min(most)
    }

    /// Returns the number of tasks that the table accepts. Each insert, take and return consumes a
    /// unit of the index.
    pub(super) fn inserted(&self) -> f64 {
        let admitted = self
            .admission
            .map_or(f64::INFINITY, |factor| factor * self.ran());
        self.tasks().min(admitted).min(self.accepted())
    }

    fn accepted(&self) -> f64 {
        let ran = self.ran();
        let of_runs = ran * (2.0 * self.attempts - 1.0);
        (INDEX_UNITS * self.seconds() - of_runs).max(ran)
    }

    /// Returns how often messages are postponed because the table does not accept their tasks.
    /// Admission deletes them instead.
    pub(super) fn postponed(&self) -> f64 {
        if self.admission.is_some() {
            return 0.0;
        }
        let most = IN_FLIGHT / POSTPONED_SECONDS * self.seconds();
        (POSTPONEMENTS * (self.tasks() - self.inserted())).min(most)
    }

    pub(super) fn freshq(&self) -> Vec<Billed> {
        let units = TransitionUnits::of(self.payload);
        let (ran, inserted, seconds) = (self.ran(), self.inserted(), self.seconds());
        let rate = ran / seconds;
        // Tasks arrive at random times, so an idle queue waits 1/rate on average for the next task.
        let activations = ran * (-rate * LINGER_SECONDS).exp();
        let busy = (seconds - activations / rate).max(0.0);
        let turns = activations + busy / TURN_SECONDS;
        let create_units = inserted * units.create;
        let run_units = ran * (2.0 * self.attempts) * units.change;
        let shards = ((create_units + run_units) / seconds / SHARD_UNITS).ceil();
        let stream = (STREAM_READS_PER_SECOND * shards * seconds).max(inserted / STREAM_BATCH);
        let batches = inserted.min(stream);

        let mut all = self.sqs(self.tasks());
        if let Some(batch) = self.batch() {
            let (batch, postponed) = (f64::from(batch), self.postponed());
            if postponed > 0.0 {
                all.push(billed(
                    "SQS, repeated receives and changed visibility",
                    2.0 * postponed / batch,
                    "request",
                ));
            }
            let received = self.tasks() + postponed;
            let time = inserted * INGEST_SECONDS + (received - inserted) * POSTPONE_SECONDS;
            all.push(billed(
                "invocations of ingest-tasks",
                received / batch,
                "invocation",
            ));
            all.push(billed(
                "time of ingest-tasks",
                time * MEMORY,
                "gigabyteSecond",
            ));
        }
        all.extend([
            billed("DynamoDB, create", create_units, "writeUnit"),
            billed("DynamoDB, take, return and settle", run_units, "writeUnit"),
            billed(
                "DynamoDB, wake-ups and leases",
                batches + 3.0 * activations + busy / 5.0,
                "writeUnit",
            ),
            billed(
                "DynamoDB, reads of the index",
                4.0 * activations + busy * self.read_units(rate),
                "readUnit",
            ),
            billed("invocations of trigger", batches, "invocation"),
            billed("notifications", turns, "notification"),
            billed("invocations of process-tasks", turns, "invocation"),
            billed("time of process-tasks", busy * MEMORY, "gigabyteSecond"),
        ]);
        all
    }

    /// Returns the billed usage of an SQS queue whose Lambda function runs a batch concurrently.
    pub(super) fn sqs_and_lambda(&self) -> Vec<Billed> {
        let batch = f64::from(self.batch().unwrap_or(1));
        let runs = self.ran() * self.attempts;
        let mut all = self.sqs(runs);
        all.extend([
            billed("invocations of the function", runs / batch, "invocation"),
            billed(
                "time of the function",
                runs / batch * self.run_time.as_secs_f64() * MEMORY,
                "gigabyteSecond",
            ),
        ]);
        all
    }

    /// Returns the billed sends, receives and deletes.
    fn sqs(&self, received: f64) -> Vec<Billed> {
        let Some(batch) = self.batch() else {
            return vec![];
        };
        let chunks = f64::from((batch * (self.payload + MESSAGE_BYTES)).div_ceil(SQS_CHUNK));
        let batch = f64::from(batch);
        let requests = chunks * self.tasks() / batch + (chunks + 1.0) * received / batch;
        vec![billed("SQS, send, receive and delete", requests, "request")]
    }

    /// Returns the read units per second of a processor that starts tasks at this rate.
    fn read_units(&self, starts: f64) -> f64 {
        let entries = f64::from(self.concurrency)
            .max(starts / READS_PER_SECOND)
            .min(HEAD);
        starts.min(READS_PER_SECOND) * 0.5 * (entries * ENTRY_BYTES / 4_096.0).ceil()
    }
}
