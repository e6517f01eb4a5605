//! Explains in text what stops or limits the tasks of a queue.

mod waiting;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lifo_queue::control::{Cause, OperatorLimit};
use lifo_queue::observed::LastResponse;
use lifo_queue::operate::{FoundTask, Status};
use lifo_queue::schema;
use lifo_queue::time::{EpochSeconds, Millis};
use serde_json::Value;

pub(crate) use self::waiting::OldRuns;
use crate::overrides::limit_values;
use crate::sample::{self, Late, Tasks, WINDOW};
use crate::time_format::{exact, moment, rate, relative, rough, tenths};

/// Responses with a known cause: part of the response text, the cause, and the fix.
const KNOWN: [[&str; 3]; 4] = [
    [
        "ReservedFunctionConcurrentInvocationLimitExceeded",
        "AWS throttles the runner's function at its reserved concurrency",
        "aws lambda get-function-concurrency --function-name <downstream> shows the reserved concurrency, and CloudTrail who set it (PutFunctionConcurrency); if this person agrees, aws lambda put-function-concurrency --function-name <downstream> --reserved-concurrent-executions <concurrency> raises it to processing.concurrency, and aws lambda delete-function-concurrency --function-name <downstream> removes it",
    ],
    [
        "TooManyRequestsException",
        "AWS throttles the runner's function",
        "the response names the limit: the reserved concurrency of the runner's function, or the concurrency of the account, which aws lambda get-account-settings shows",
    ],
    [
        "certificate expired",
        "the certificate of the endpoint expired",
        "the owner of <downstream> renews its certificate, often that of the load balancer",
    ],
    [
        "invalid peer certificate",
        "the queue does not trust the certificate of the endpoint",
        "the owner of <downstream> corrects its certificate; docs/how-to/http-endpoint.md explains a private CA",
    ],
];

fn known(last: &LastResponse) -> Option<&'static [&'static str; 3]> {
    KNOWN.iter().find(|[part, ..]| last.text.contains(part))
}

/// Returns the fix for the cause of a response, if it is known. In the fix, `<downstream>` stands for
/// the runner's function or URL, and `<concurrency>` for `processing.concurrency`.
pub(crate) fn remedy(last: &LastResponse) -> Option<&'static str> {
    known(last).map(|[.., remedy]| *remedy)
}

/// Describes the cause of a response, if it is known.
pub(crate) fn of_response(last: &LastResponse) -> Option<String> {
    let [_, cause, _] = known(last)?;
    let at = expiry(&last.text).map(|at| format!(" at {}", exact(at)));
    Some(format!("{cause}{}", at.unwrap_or_default()))
}

fn described(last: Option<&LastResponse>, otherwise: &str) -> String {
    let cause = last.and_then(of_response);
    cause.unwrap_or_else(|| otherwise.to_owned())
}

/// Returns the expiry of a certificate, from the error of the TLS library.
fn expiry(text: &str) -> Option<Millis> {
    let (_, rest) = text.split_once("not valid after ")?;
    let seconds = rest.split(' ').next()?.parse().ok()?;
    Some(EpochSeconds(seconds).millis())
}

/// The factor that limits the starts if more tasks are created than end.
#[derive(Debug)]
pub(crate) enum Limit<'a> {
    /// The downstream: slots are free, and it returned this response in the last minute.
    Response(&'a LastResponse),
    /// An operator's limit on the rate, or on the concurrency if that many tasks run.
    Operator(&'a OperatorLimit),
    /// `processing.ratePerSecond`, because slots are free.
    Rate(f64),
    /// The concurrency, with this number of slots.
    Slots(u16),
    /// The concurrency: some tasks occupy slots for this time, far longer than other tasks.
    Slow(u16, Duration),
    Unknown,
}

/// Minimum duration of a slow run in milliseconds, and its minimum ratio to the median.
const SLOW: (u64, u64) = (1_000, 10);

/// Minimum share of the rate in use at which the rate is considered the limit.
const USED: f64 = 0.8;

impl<'a> Limit<'a> {
    pub(crate) fn of(status: &'a Status) -> Self {
        let observed = &status.control.observed;
        let Some(limits) = observed.limits else {
            return Self::Unknown;
        };
        let is_full = status.taken.count >= limits.concurrency.into();
        let (succeeded, failed) = observed.ended.within(status.now);
        let ended = f64::from(succeeded + failed) / WINDOW.as_secs_f64();
        if let Some(limit) = by_operator(status, |rate| ended >= USED * rate) {
            return Self::Operator(limit);
        }
        let last = observed.last_response.as_ref();
        let last = last.filter(|last| status.now.since(last.at) < WINDOW && !is_full);
        let median = observed.median_run_ms.unwrap_or_default();
        // At the median run duration, most slots would be free.
        let is_free = ended * median as f64 / 1_000.0 < f64::from(limits.concurrency) / 2.0;
        let slow = observed.longest_run;
        let slow = slow.filter(|run| is_free && run.ms >= SLOW.0.max(SLOW.1 * median));
        match (last, limits.rate_per_second(), slow) {
            (Some(last), ..) => Self::Response(last),
            (None, Some(rate), _) if ended >= USED * rate => Self::Rate(rate),
            (None, _, Some(run)) => Self::Slow(limits.concurrency, Duration::from_millis(run.ms)),
            (None, Some(rate), None) if !is_full => Self::Rate(rate),
            _ if is_full => Self::Slots(limits.concurrency),
            _ => Self::Unknown,
        }
    }

    /// Describes the limit in one sentence, with the fields that the tasks share.
    pub(crate) fn text(&self, tasks: &Tasks) -> String {
        let created = "tasks are created faster than";
        let recent = || shared_fields(&tasks.recent, "new");
        match self {
            Self::Response(last) => described(Some(last), "the downstream is busy"),
            Self::Operator(limit) => {
                let limit = limit_values(limit);
                format!("{created} an operator's limit of {limit} allows")
            }
            Self::Rate(rate) => {
                format!("{created} ratePerSecond {rate} lets them start{}", recent())
            }
            Self::Unknown => format!("{created} they finish{}", recent()),
            Self::Slots(slots) => format!("{created} concurrency {slots} can run them{}", recent()),
            Self::Slow(slots, longest) => {
                let shared = shared_fields(&tasks.running, "running");
                let longest = tenths(*longest);
                format!("slow tasks take most of the {slots} slots, up to {longest} each{shared}")
            }
        }
    }
}

/// The operator's limit, if it is below the settings and its slots or its rate are in use.
fn by_operator(status: &Status, is_used: impl Fn(f64) -> bool) -> Option<&OperatorLimit> {
    let limit = status.control.limit(status.now)?;
    let settings = status.control.observed.limits?;
    let is_full = limit.concurrency.is_some_and(|most| {
        most.get() < settings.concurrency && status.taken.count >= most.get().into()
    });
    let is_rate_used = limit.rate.is_some_and(|rate| {
        let rate = rate.per_second();
        settings.rate_per_second().is_none_or(|most| rate < most) && is_used(rate)
    });
    (is_full || is_rate_used).then_some(limit)
}

/// A summary of what stops or limits the tasks.
pub(crate) struct Summary {
    /// The summary in one sentence.
    pub(crate) text: String,
    /// Whether `freshq doctor` has a finding with a fix for the problem.
    pub(crate) is_finding: bool,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = if self.is_finding { "doctor" } else { "list" };
        write!(f, "{}; next: freshq {next}", self.text)
    }
}

/// Maximum number of shared fields to name, and maximum length of a field in characters.
const NAMED: (usize, usize) = (3, 60);

/// Returns the fields shared by at least two and more than half of the tasks, with their numbers,
/// and the number of tasks. Fields shared by all are last, because they do not distinguish tasks.
fn shared<'a>(tasks: impl IntoIterator<Item = &'a FoundTask>) -> (Vec<(String, usize)>, usize) {
    let mut all = 0;
    let payloads = tasks.into_iter().inspect(|_| all += 1);
    let payloads = payloads.filter_map(|task| task.attributes.get(schema::PAYLOAD)?.as_object());
    let mut counts = BTreeMap::<String, usize>::new();
    for (name, value) in payloads.flatten() {
        let field = format!("{}:{value}", Value::from(name.as_str()));
        if field.chars().count() <= NAMED.1 {
            *counts.entry(field).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.retain(|(_, count)| *count >= 2 && 2 * count > all);
    counts.sort_by_key(|(_, count)| (*count == all, std::cmp::Reverse(*count)));
    counts.truncate(NAMED.0);
    (counts, all)
}

/// Replaces `<text>` in a remedy's commands with the field that best distinguishes the tasks,
/// unless the field contains a quotation mark, which would end the argument.
pub(crate) fn with_field<'a>(
    remedy: &str,
    tasks: impl IntoIterator<Item = &'a FoundTask>,
) -> String {
    let (fields, _) = shared(tasks);
    let field = fields.first().filter(|(field, _)| !field.contains('\''));
    field.map_or_else(
        || remedy.to_owned(),
        |(field, _)| remedy.replace("<text>", field),
    )
}

/// Formats the shared fields as text. Empty if there are none.
fn shared_fields<'a>(tasks: impl IntoIterator<Item = &'a FoundTask>, which: &str) -> String {
    let (counts, all) = shared(tasks);
    let counts = counts.into_iter();
    let counts = counts.map(|(field, count)| format!("{count} with {field}"));
    let counts: Vec<_> = counts.collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!(
            "; in a sample of {all} {which} tasks: {}",
            counts.join(", ")
        ),
    }
}

/// Tasks are considered to be expiring if the next expiry is less than this time away.
const SOON: Duration = Duration::from_secs(5);

/// Minimum number of late tasks created in a minute for a notice.
const LATE: u32 = 5;

/// Summarizes what stops or limits the tasks; `None` if nothing is known to do so.
pub(crate) fn summary(status: &Status, tasks: &Tasks) -> Option<Summary> {
    let finding = finding(status, tasks);
    let is_finding = finding.is_some();
    let text = finding.or_else(|| waiting::text(status, tasks));
    let text = text.or_else(|| late(status.now, tasks, Duration::ZERO));
    text.map(|text| Summary { text, is_finding })
}

/// Describes late tasks, for a reader who may know whether the delay is intended. A retry after its
/// backoff is not late.
pub(crate) fn notice(now: Millis, tasks: &Tasks) -> Option<String> {
    let late = late(now, tasks, sample::LATE)?;
    let seconds = tasks.created.late.delay.map(|delay| delay.as_secs());
    let unit = match seconds.filter(|seconds| seconds % 1_000 == 0) {
        Some(seconds) => format!(
            "; {seconds} s may be {} s in the wrong unit",
            seconds / 1_000
        ),
        None => String::new(),
    };
    let remedy = "if this is not intended, ask the owner of the producer; freshq list --status success --payload '<text>' shows earlier tasks for comparison, and freshq cancel --payload '<text>' --dry-run lists the pending ones";
    let remedy = with_field(remedy, late_tasks(tasks));
    Some(format!("{late}{unit}; {remedy}"))
}

fn late_tasks(tasks: &Tasks) -> impl Iterator<Item = &FoundTask> {
    let recent = tasks.recent.iter();
    recent.filter(|task| sample::delay(task).is_some())
}

/// Describes tasks that can start only long after creation, or no earlier than `soonest` from now.
fn late(now: Millis, tasks: &Tasks, soonest: Duration) -> Option<String> {
    let Late { count, delay } = tasks.created.late;
    let start = tasks.next_start.filter(|at| at.since(now) >= soonest);
    match (delay.filter(|_| count >= LATE), start) {
        (Some(delay), _) => Some(format!(
            "{count} of {} tasks of the last minute may start only {} ({} s) after their creation{}",
            tasks.created.count,
            rough(delay),
            delay.as_secs(),
            shared_fields(late_tasks(tasks), "late")
        )),
        (None, Some(at)) => {
            let at = moment(at, now);
            Some(format!("no pending task may start before {at}"))
        }
        (None, None) => None,
    }
}

/// Returns the explanation from a finding of `freshq doctor`, in one sentence.
fn finding(status: &Status, tasks: &Tasks) -> Option<String> {
    let (control, now) = (&status.control, status.now);
    let observed = &control.observed;
    let last = observed.last_response.as_ref();
    let (succeeded, failed) = observed.ended.within(now);
    if control.is_paused(now) {
        return Some("the queue is paused, so no task starts".to_owned());
    }
    if control.held_breaker(now).is_some() {
        return Some("an operator holds the circuit breaker open, so only probes start".to_owned());
    }
    if control.breaker.is_some() {
        let otherwise = control.health.cause.unwrap_or(Cause::Unavailable).text();
        let cause = described(last, otherwise);
        return Some(format!("{cause}, so only probes start"));
    }
    if let Some((limit, failed)) = control.health.limit.zip(control.health.failed_limit) {
        return Some(format!(
            "the downstream was busy with {failed} concurrent tasks, so at most {limit} run"
        ));
    }
    if failed > succeeded {
        return Some(format!(
            "{failed} of {} tasks that ended in the last minute failed",
            succeeded + failed
        ));
    }
    let surplus = f64::from(tasks.created.surplus(status)?) / WINDOW.as_secs_f64();
    let (limit, surplus) = (Limit::of(status).text(tasks), rate(surplus));
    let oldest = tasks.first_expiry(now);
    Some(match oldest {
        // If no task had expired yet, the oldest one would expire much later.
        Some(at) if at.since(now) < SOON => {
            format!("{limit}; tasks expire without a run, about {surplus}/s")
        }
        Some(at) => {
            let at = relative(at, now);
            format!("{limit}; the oldest expires {at} (surplus: {surplus}/s)")
        }
        None => format!("{limit} (surplus: {surplus}/s)"),
    })
}

/// Formats the last response of the downstream as text.
pub(crate) fn response(last: &LastResponse) -> String {
    format!(
        "the last response, to task {} at {}: {}",
        last.task,
        exact(last.at),
        last.text
    )
}

#[cfg(test)]
pub(crate) mod tests;
