//! The reply of the user's function.

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;

use super::super::reason::excerpt;
use super::super::retry_after;
use super::Outcome;

const EXPECTED: &str = r#"return nothing, or an object like {"outcome": "success"}"#;

/// The documented reply.
#[derive(Deserialize)]
#[serde(
    tag = "outcome",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Reply {
    Success,
    Failure { reason: Option<String> },
    Retry { reason: Option<String> },
    Unavailable { reason: Option<String> },
    Busy { retry_after_seconds: Option<Value> },
}

/// The error object of Lambda runtimes
/// (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html#runtimes-api-invokeerror>).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thrown {
    error_type: Option<String>,
    error_message: Option<String>,
}

impl Thrown {
    fn texts(self) -> impl Iterator<Item = String> {
        [self.error_type, self.error_message].into_iter().flatten()
    }

    /// Whether the runtime, the sandbox or an extension failed, or the function timed out. In these
    /// cases, the task is rarely the cause.
    fn is_the_platforms(&self) -> bool {
        let prefixes = ["Runtime.", "Sandbox.", "Extension."];
        let named = |name: &String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let timed_out = |message: &String| message.contains("Task timed out after ");
        self.error_type.as_ref().is_some_and(named)
            || self.error_message.as_ref().is_some_and(timed_out)
    }
}

/// The outcome after the function returned `payload`.
pub(super) fn returned(payload: &[u8]) -> Outcome {
    if payload.trim_ascii().is_empty() || payload.trim_ascii() == b"null" {
        return Outcome::Success;
    }
    let reply = match serde_json::from_slice(payload) {
        Ok(reply) => reply,
        Err(error) => {
            return Outcome::Failure {
                reason: format!(
                    "the function's reply cannot be read: {}; {EXPECTED}",
                    excerpt(&unreadable(payload, &error))
                ),
            };
        }
    };
    let or_silent = |reason: Option<String>| {
        reason.map_or_else(
            || "the function gave no reason".to_owned(),
            |reason| excerpt(&reason),
        )
    };
    match reply {
        Reply::Success => Outcome::Success,
        Reply::Failure { reason } => Outcome::Failure {
            reason: or_silent(reason),
        },
        Reply::Retry { reason } => Outcome::Retry {
            reason: or_silent(reason),
        },
        Reply::Unavailable { reason } => Outcome::Unavailable {
            reason: or_silent(reason),
        },
        Reply::Busy {
            retry_after_seconds,
        } => busy_for(retry_after_seconds),
    }
}

/// Reason for a busy outcome. The function's reply does not contain a reason.
const BUSY: &str = "the function replied that it is busy";

/// The function is busy, whatever wait it asks for. The queue chooses the wait if the function's
/// is neither a number nor the text of one.
fn busy_for(asked: Option<Value>) -> Outcome {
    let retry_after = match asked {
        Some(Value::Number(seconds)) => seconds.as_f64().map(retry_after::from_seconds),
        Some(Value::String(text)) => retry_after::parse(&text, SystemTime::now()),
        _ => None,
    };
    Outcome::Busy {
        retry_after,
        reason: BUSY.to_owned(),
    }
}

/// Describes the mistake in an invalid reply in terms of the `outcome` field.
fn unreadable(payload: &[u8], error: &serde_json::Error) -> String {
    match serde_json::from_slice::<Value>(payload) {
        Ok(Value::Object(fields)) if !fields.contains_key("outcome") => {
            "the field \"outcome\" is missing".to_owned()
        }
        Ok(Value::Object(_)) => {
            format!("in the field \"outcome\" or next to it, {error}")
        }
        _ => format!("it is not an object with a field \"outcome\" ({error})"),
    }
}

/// The outcome after the function failed or stopped. `kind` is Lambda's `FunctionError`.
pub(super) fn threw(kind: &str, payload: &[u8]) -> Outcome {
    let thrown = serde_json::from_slice(payload);
    let not_its_code = thrown.as_ref().is_ok_and(Thrown::is_the_platforms);
    let told = thrown.into_iter().flat_map(Thrown::texts);
    let said = match told.collect::<Vec<_>>().join(": ") {
        nothing if nothing.is_empty() => String::from_utf8_lossy(payload).into_owned(),
        said => said,
    };
    let reason = format!("the function threw ({}): {}", excerpt(kind), excerpt(&said));
    match not_its_code {
        true => Outcome::Unavailable { reason },
        false => Outcome::Retry { reason },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::samples::{FAILURE, RETRY, UNAVAILABLE};
    use super::*;

    fn busy(seconds: impl Into<Option<f64>>) -> Outcome {
        Outcome::Busy {
            retry_after: seconds.into().map(Duration::from_secs_f64),
            reason: BUSY.to_owned(),
        }
    }

    #[test]
    fn documented_replies_map_to_their_outcomes() {
        let silent = || "the function gave no reason".to_owned();
        let cases = [
            ("", Outcome::Success),
            (" \n", Outcome::Success),
            ("null", Outcome::Success),
            (r#"{"outcome":"success","extra":1}"#, Outcome::Success),
            (
                r#"{"outcome":"failure","reason":"no\nsuch order"}"#,
                FAILURE("no such order".into()),
            ),
            (r#"{"outcome":"failure"}"#, FAILURE(silent())),
            (
                r#"{"outcome":"retry","reason":"later"}"#,
                RETRY("later".into()),
            ),
            (r#"{"outcome":"retry","reason":null}"#, RETRY(silent())),
            (
                r#"{"outcome":"unavailable","reason":"no database"}"#,
                UNAVAILABLE("no database".into()),
            ),
            (r#"{"outcome":"busy"}"#, busy(None)),
            (r#"{"outcome":"busy","retryAfterSeconds":5}"#, busy(5.0)),
            (r#"{"outcome":"busy","retryAfterSeconds":0.25}"#, busy(0.25)),
            (
                r#"{"outcome":"busy","retryAfterSeconds":1e300}"#,
                busy(900.0),
            ),
        ];
        for (payload, outcome) in cases {
            assert_eq!(returned(payload.as_bytes()), outcome, "{payload}");
        }
    }

    #[test]
    fn busy_reply_is_busy_whatever_wait_it_asks_for() {
        let cases = [
            ("-0.4", busy(0.0)),
            ("-1e300", busy(0.0)),
            (r#""5""#, busy(5.0)),
            (r#""3.5""#, busy(4.0)),
            (r#""soon""#, busy(None)),
            ("null", busy(None)),
            ("true", busy(None)),
            (r#"{"seconds":5}"#, busy(None)),
        ];
        for (asked, outcome) in cases {
            let reply = format!(r#"{{"outcome":"busy","retryAfterSeconds":{asked}}}"#);
            assert_eq!(returned(reply.as_bytes()), outcome, "{asked}");
        }
    }

    #[test]
    fn invalid_replies_fail_the_task_and_name_the_field() {
        let cases = [
            (r#"{"statusCode":200}"#, "the field \"outcome\" is missing"),
            ("{}", "the field \"outcome\" is missing"),
            (r#"{"outcome":"done"}"#, "unknown variant `done`"),
            (r#"{"outcome":7}"#, "in the field \"outcome\""),
            (
                r#"{"outcome":"failure","reason":7}"#,
                "invalid type: integer `7`",
            ),
            (r#""success""#, "not an object with a field \"outcome\""),
            ("true", "not an object with a field \"outcome\""),
            ("[]", "not an object with a field \"outcome\""),
            ("{", "not an object with a field \"outcome\""),
        ];
        for (payload, problem) in cases {
            match returned(payload.as_bytes()) {
                Outcome::Failure { reason } => {
                    assert!(reason.contains(problem), "{payload}: {reason}")
                }
                other => panic!("{payload}: {other:?}"),
            }
        }
    }

    #[test]
    fn function_errors_mean_retry_or_unavailable_with_their_message() {
        let cases = [
            (
                r#"{"errorType":"Error","errorMessage":"no\ndatabase","trace":["…"]}"#,
                "the function threw (Unhandled): Error: no database",
                RETRY,
            ),
            (
                r#"{"errorMessage":"Task timed out after 3.00 seconds"}"#,
                "the function threw (Unhandled): Task timed out after 3.00 seconds",
                UNAVAILABLE,
            ),
            (
                r#"{"errorType":"Runtime.ExitError"}"#,
                "the function threw (Unhandled): Runtime.ExitError",
                UNAVAILABLE,
            ),
            (
                "not json",
                "the function threw (Unhandled): not json",
                RETRY,
            ),
        ];
        for (payload, reason, outcome) in cases {
            let outcome = outcome(reason.to_owned());
            assert_eq!(threw("Unhandled", payload.as_bytes()), outcome);
        }
    }
}
