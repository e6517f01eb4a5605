//! The reply of the user's function.

use std::time::Duration;

use serde::Deserialize;

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
    Busy { retry_after_seconds: Option<f64> },
}

/// The error object of Lambda's runtimes
/// (<https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html#runtimes-api-invokeerror>).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thrown {
    error_type: Option<String>,
    error_message: Option<String>,
}

impl Thrown {
    /// Whether the runtime, the sandbox or an extension failed, or the function exceeded its time.
    /// The task is rarely the cause.
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
            retry_after_seconds: None,
        } => Outcome::Busy {
            retry_after: None,
            reason: BUSY.to_owned(),
        },
        Reply::Busy {
            retry_after_seconds: Some(seconds),
        } => busy_for(seconds),
    }
}

/// The reason of a busy function, whose reply has none.
const BUSY: &str = "the function replied that it is busy";

fn busy_for(seconds: f64) -> Outcome {
    // `Duration::try_from_secs_f64` is not enough: it also rejects a wait that is too long for it.
    if seconds.is_sign_negative() || seconds.is_nan() {
        return Outcome::Failure {
            reason: format!(
                "the function's reply cannot be read: retryAfterSeconds is {seconds}; give 0 or more"
            ),
        };
    }
    let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Outcome::Busy {
        retry_after: Some(retry_after::cap(wait)),
        reason: BUSY.to_owned(),
    }
}

/// The mistake in a reply that cannot be read, in terms of the field `outcome`.
fn unreadable(payload: &[u8], error: &serde_json::Error) -> String {
    match serde_json::from_slice::<serde_json::Value>(payload) {
        Ok(serde_json::Value::Object(fields)) if !fields.contains_key("outcome") => {
            "the field \"outcome\" is missing".to_owned()
        }
        Ok(serde_json::Value::Object(_)) => {
            format!("in the field \"outcome\" or beside it, {error}")
        }
        _ => format!("it is not an object with a field \"outcome\" ({error})"),
    }
}

/// The outcome after an error or a stop of the function. `kind` is Lambda's `FunctionError`.
pub(super) fn threw(kind: &str, payload: &[u8]) -> Outcome {
    let thrown = serde_json::from_slice(payload);
    let not_its_code = thrown.as_ref().is_ok_and(Thrown::is_the_platforms);
    let said = match thrown {
        Ok(Thrown {
            error_type: Some(name),
            error_message: Some(message),
        }) => {
            format!("{name}: {message}")
        }
        Ok(
            Thrown {
                error_type: Some(text),
                ..
            }
            | Thrown {
                error_message: Some(text),
                ..
            },
        ) => text,
        _ => String::from_utf8_lossy(payload).into_owned(),
    };
    let reason = format!("the function threw ({}): {}", excerpt(kind), excerpt(&said));
    match not_its_code {
        true => Outcome::Unavailable { reason },
        false => Outcome::Retry { reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(reason: &str) -> Outcome {
        Outcome::Failure {
            reason: reason.to_owned(),
        }
    }

    fn busy(seconds: f64) -> Outcome {
        Outcome::Busy {
            retry_after: Some(Duration::from_secs_f64(seconds)),
            reason: BUSY.to_owned(),
        }
    }

    #[test]
    fn documented_replies() {
        let silent = "the function gave no reason".to_owned();
        let cases = [
            ("", Outcome::Success),
            (" \n", Outcome::Success),
            ("null", Outcome::Success),
            (r#"{"outcome":"success","extra":1}"#, Outcome::Success),
            (
                r#"{"outcome":"failure","reason":"no\nsuch order"}"#,
                failure("no such order"),
            ),
            (
                r#"{"outcome":"failure"}"#,
                failure("the function gave no reason"),
            ),
            (
                r#"{"outcome":"retry","reason":"later"}"#,
                Outcome::Retry {
                    reason: "later".into(),
                },
            ),
            (
                r#"{"outcome":"retry","reason":null}"#,
                Outcome::Retry { reason: silent },
            ),
            (
                r#"{"outcome":"unavailable","reason":"no database"}"#,
                Outcome::Unavailable {
                    reason: "no database".into(),
                },
            ),
            (
                r#"{"outcome":"busy"}"#,
                Outcome::Busy {
                    retry_after: None,
                    reason: BUSY.to_owned(),
                },
            ),
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
            (
                r#"{"outcome":"busy","retryAfterSeconds":-1}"#,
                "retryAfterSeconds is -1",
            ),
            (
                r#"{"outcome":"busy","retryAfterSeconds":"5"}"#,
                "invalid type: string \"5\"",
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
        type MakeOutcome = fn(String) -> Outcome;
        let retry: MakeOutcome = |reason| Outcome::Retry { reason };
        let unavailable: MakeOutcome = |reason| Outcome::Unavailable { reason };
        let cases = [
            (
                r#"{"errorType":"Error","errorMessage":"no\ndatabase","trace":["…"]}"#,
                "the function threw (Unhandled): Error: no database",
                retry,
            ),
            (
                r#"{"errorMessage":"Task timed out after 3.00 seconds"}"#,
                "the function threw (Unhandled): Task timed out after 3.00 seconds",
                unavailable,
            ),
            (
                r#"{"errorType":"Runtime.ExitError"}"#,
                "the function threw (Unhandled): Runtime.ExitError",
                unavailable,
            ),
            (
                "not json",
                "the function threw (Unhandled): not json",
                retry,
            ),
        ];
        for (payload, reason, outcome) in cases {
            let outcome = outcome(reason.to_owned());
            assert_eq!(threw("Unhandled", payload.as_bytes()), outcome);
        }
    }
}
