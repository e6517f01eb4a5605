//! Checks beyond the template: deployment, failure queues, processor, pause, limit, breaker.

use std::time::Duration;

use lifo_queue::control::{Cause, Control};
use lifo_queue::time::Millis;
use serde_json::Value;

use super::Finding;
use crate::deployed::{Kind, MISSPELLED, Message, Resource, Stack};
use crate::time_format::{exact, relative, rough};
use crate::verbs::{cause, limit, pause};

/// Time after which an expired processor lease is a finding. The sweep runs every minute.
const STALE: Duration = Duration::from_secs(120);

/// Recommended ratio of a queue's visibility timeout to the timeout of its function
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>).
const VISIBILITY_FACTOR: u64 = 6;

/// Maximum number of characters of an error that a finding quotes.
const QUOTED: usize = 300;

/// Checks that the last deployment succeeded.
pub(super) fn complete(stack: &Stack) -> (usize, Vec<Finding>) {
    let calm = ["CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"];
    let finding = (!calm.contains(&stack.status.as_str())).then(|| Finding {
        place: "the stack".to_owned(),
        what: format!("its status is {}", stack.status),
        why: "the last deployment did not succeed, or one is in progress".to_owned(),
        remedy: "check the events of the stack in the AWS console, then deploy again".to_owned(),
    });
    (1, finding.into_iter().collect())
}

/// Returns the number of messages in a failure queue; 0 for any other resource.
pub(super) fn failed(stack: &Stack, resource: &Resource, now: &Value) -> u64 {
    match resource.kind == Kind::Queue && stack.takes_failures(&resource.logical) {
        true => number(now, "ApproximateNumberOfMessages"),
        false => 0,
    }
}

fn number(now: &Value, name: &str) -> u64 {
    let text = now[name].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns the error of the newest message.
fn newest(messages: &[Message]) -> Option<String> {
    let newest = messages.iter().max_by_key(|message| message.sent)?;
    let at = newest.sent.map_or("-".to_owned(), exact);
    let error = newest.error().map_or(
        "SQS moved it, so the log of the function that reads the queue contains its error"
            .to_owned(),
        |error| error.chars().take(QUOTED).collect(),
    );
    Some(format!(
        "; the newest of {} read, from {at}: {error}",
        messages.len()
    ))
}

/// Finds messages in a failure queue, and a visibility timeout that is too short.
pub(super) fn messages(
    stack: &Stack,
    resource: &Resource,
    now: &Value,
    messages: &[Message],
) -> Vec<Finding> {
    if resource.kind != Kind::Queue {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let count = failed(stack, resource, now);
    if count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        findings.push(Finding {
            place: resource.place(),
            what: format!("it contains {count} message{plural}{}", newest(messages).unwrap_or_default()),
            why: "each is an event that failed all its retries, or a message that was rejected".to_owned(),
            remedy: "freshq messages shows them, with --agents those of the agents' queue; docs/how-to/runbook-tasks.md and runbook-agents.md, \"Messages in a failure queue\", say what each queue means".to_owned(),
        });
    }
    let visibility = number(now, "VisibilityTimeout");
    if let Some(timeout) = stack.reader_timeout(&resource.logical)
        && visibility < VISIBILITY_FACTOR * timeout
    {
        let enough = VISIBILITY_FACTOR * timeout;
        findings.push(Finding {
            place: resource.place(),
            what: format!("VisibilityTimeout is {visibility} s, less than {VISIBILITY_FACTOR} times the {timeout} s of its function"),
            why: "SQS redelivers a throttled message while its function still processes it".to_owned(),
            remedy: format!("aws sqs set-queue-attributes --queue-url {} --attributes VisibilityTimeout={enough}", resource.id),
        });
    }
    findings
}

/// Finds tasks that no processor reads because a direct writer misspelled their status.
pub(super) fn misspelled(resource: &Resource, now: &Value) -> Option<Finding> {
    let (status, task) = now[MISSPELLED].as_object()?.iter().next()?;
    let task = task.as_str().unwrap_or_default();
    Some(Finding {
        place: resource.place(),
        what: format!("at least one task has the status {status:?} instead of \"PENDING\": {task}"),
        why: "no processor reads such a task, so it never starts, and no list or count includes it"
            .to_owned(),
        remedy: format!(
            "fix the writer; aws dynamodb update-item --table-name {} --key '{{\"taskId\":{{\"S\":\"{task}\"}}}}' --update-expression 'SET taskStatus = :p' --expression-attribute-values '{{\":p\":{{\"S\":\"PENDING\"}}}}' corrects one",
            resource.id
        ),
    })
}

/// Names the command that replaces the runner's secret, if the downstream rejected the credentials.
fn secret_remedy(control: &Control, secret: Option<&str>) -> Option<String> {
    let last = control.observed.last_response.as_ref()?;
    let starts = ["HTTP 401", "HTTP 403", "secret "];
    let rejected = starts.iter().any(|start| last.text.starts_with(start));
    let secret = secret.filter(|_| rejected)?;
    Some(format!(
        "if the secret is wrong or empty, aws secretsmanager put-secret-value --secret-id {secret} --secret-string '<value>'; 30 s after the last response, when the old value is no longer cached, freshq breaker close"
    ))
}

/// Checks the control item for a stale lease, pause, limit, open circuit breaker and idle turns.
///
/// `pending` is the number of pending tasks, if it is known. `secret` is the ARN of the runner's
/// secret.
pub(super) fn control(
    control: &Control,
    pending: Option<u32>,
    now: Millis,
    secret: Option<&str>,
) -> (usize, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut find = |place: &str, what: String, why: &str, remedy: &str| {
        findings.push(Finding {
            place: place.to_owned(),
            what,
            why: why.to_owned(),
            remedy: remedy.to_owned(),
        });
    };
    if let Some(until) = control.paused_until.filter(|_| control.is_paused(now)) {
        let what = format!(
            "it is paused until {}, {} left: {}",
            exact(until),
            rough(until.since(now)),
            pause::reason(control)
        );
        find(
            "the queue",
            what,
            "no task starts, and pending tasks expire",
            "fix the cause, then freshq resume",
        );
    }
    if let Some(what) = limit::stands(control, now) {
        find(
            "the queue",
            format!("an operator limits it to {what}"),
            "fewer tasks start than the settings allow",
            "freshq limit --off",
        );
    }
    if let Some(hold) = control.held_breaker(now) {
        let what = format!(
            "an operator holds it open until {}: {}",
            exact(hold.until),
            hold.reason
        );
        find(
            "the circuit breaker",
            what,
            "only probes start",
            "freshq breaker close",
        );
    } else if let Some(open) = control.breaker {
        let last = control.observed.last_response.as_ref();
        let known = last.and_then(cause::remedy).map(str::to_owned);
        let remedy = secret_remedy(control, secret).or(known);
        let remedy = remedy.unwrap_or_else(|| "fix the downstream".to_owned());
        let why = control.health.cause.unwrap_or(Cause::Unavailable).text();
        let cause = last
            .and_then(cause::of_response)
            .map(|cause| format!("{cause}; "));
        let last = last.map(|last| format!("; {}", cause::response(last)));
        let what = format!(
            "{}it has been open since {}; failed probes: {}{}",
            cause.unwrap_or_default(),
            exact(open.since),
            open.probes,
            last.unwrap_or_default()
        );
        find(
            "the circuit breaker",
            what,
            &format!("{why}, so only probes start"),
            &format!("{remedy}; the breaker closes by itself"),
        );
    }
    if let Some(lease) = &control.lease
        && now.since(lease.until) > STALE
    {
        let what = format!(
            "the processor lease of {} expired {}",
            lease.owner,
            relative(lease.until, now)
        );
        find(
            "the processor",
            what,
            "the process probably crashed, and no sweep found work since then, or no sweep runs",
            "check the sweep's schedule and log; freshq wake starts a processor",
        );
    }
    if control.idle_turns > 0
        && control.lease.is_none()
        && pending > Some(0)
        && !control.is_paused(now)
    {
        let what = format!("{} consecutive turns settled no task", control.idle_turns);
        find(
            "the processor",
            what,
            "tasks start but neither succeed nor fail",
            "freshq errors groups the errors of the pending tasks; docs/how-to/runbook-tasks.md, \"No progress\"",
        );
    }
    (4, findings)
}

#[cfg(test)]
mod tests {
    use lifo_queue::observed::LastResponse;
    use lifo_queue::task::TaskId;

    use super::*;

    #[test]
    fn the_remedy_of_rejected_credentials_names_the_secret() {
        let at = Millis(1_800_000_000_000);
        let after = |text| {
            let mut control = Control::default();
            let last = LastResponse::new(at, &TaskId::from_stored("a"), text);
            control.observed.last_response = Some(last);
            control
        };
        for (text, names) in [
            ("HTTP 401 Unauthorized", true),
            ("HTTP 403 Forbidden", true),
            (
                "secret arn contains no text; store the header's value",
                true,
            ),
            ("HTTP 404 Not Found", false),
        ] {
            let remedy = secret_remedy(&after(text), Some("the-secret"));
            let command = "aws secretsmanager put-secret-value --secret-id the-secret ";
            let named = remedy.is_some_and(|remedy| remedy.contains(command));
            assert_eq!(named, names, "{text}");
            assert_eq!(secret_remedy(&after(text), None), None);
        }
    }
}
