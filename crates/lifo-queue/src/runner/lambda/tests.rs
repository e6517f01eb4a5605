//! Tests of the runner with the real client and prepared responses.

use serde_json::json;

use super::super::fake_aws::{FakeAws, Prepared, response};
use super::super::samples::{FAILURE, Kind, REJECTING, RETRY, UNAVAILABLE, reason, task};
use super::*;

const ARN: &str = "arn:aws:lambda:eu-west-1:111122223333:function:work:live";

async fn run(responses: impl IntoIterator<Item = Prepared>) -> (Outcome, FakeAws) {
    let aws = FakeAws::returning(responses);
    let client = Client::new(&aws.config());
    let runner = LambdaRunner::new(&client, ARN, Duration::from_secs(60));
    (runner.run(&task("é 1")).await, aws)
}

/// A service error that keeps the function from running.
fn error(status: u16, code: &'static str) -> Prepared {
    let headers = vec![("x-amzn-errortype", code)];
    (status, headers, json!({"Message": "because"}).to_string())
}

#[tokio::test]
async fn function_is_invoked_with_the_task() {
    let (outcome, aws) = run([response(200, "null")]).await;
    assert_eq!(outcome, Outcome::Success);

    let made = aws.made();
    assert_eq!(made.len(), 1);
    let path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A111122223333%3Afunction%3Awork%3Alive/invocations";
    assert!(made[0].uri.ends_with(path), "{}", made[0].uri);
    let kind = ["x-amz-invocation-type", "RequestResponse"].map(str::to_owned);
    assert!(
        made[0].headers.contains(&kind.into()),
        "{:?}",
        made[0].headers
    );
    let event: serde_json::Value = serde_json::from_str(&made[0].body).unwrap();
    let expected = json!({
        "taskId": "é 1", "taskCreated": 1_700_000_000_123_i64, "attempt": 2,
        "expiresAt": 1_700_003_600, "payload": {"order": 7},
    });
    assert_eq!(event, expected);
}

#[tokio::test]
async fn reply_of_the_function_determines_the_outcome() {
    let (outcome, _) = run([response(200, r#"{"outcome":"failure","reason":"no"}"#)]).await;
    assert_eq!(outcome, FAILURE("no".to_owned()));
}

#[tokio::test]
async fn task_is_retried_if_the_function_throws() {
    let thrown = json!({"errorType": "ValueError", "errorMessage": "no database"}).to_string();
    let prepared: Prepared = (200, vec![("x-amz-function-error", "Unhandled")], thrown);
    let (outcome, _) = run([prepared]).await;
    let reason = "the function threw (Unhandled): ValueError: no database".to_owned();
    assert_eq!(outcome, RETRY(reason));
}

#[tokio::test]
async fn throttling_means_busy() {
    let wait = |seconds: Option<u64>| seconds.map(Duration::from_secs);
    let mut hinted = error(429, "TooManyRequestsException");
    hinted.1.push(("retry-after", "3"));
    let cases = [
        (hinted, wait(Some(3))),
        (error(429, "TooManyRequestsException"), wait(None)),
        (response(429, "{}"), wait(None)),
        (error(502, "EC2ThrottledException"), wait(None)),
        (error(502, "ResourceNotReadyException"), wait(None)),
        (error(409, "ResourceConflictException"), wait(None)),
        (error(409, "CodeArtifactUserPendingException"), wait(None)),
    ];
    for (prepared, expected) in cases {
        let (outcome, aws) = run([prepared.clone()]).await;
        let Outcome::Busy {
            retry_after,
            reason,
        } = outcome
        else {
            panic!("{prepared:?}: {outcome:?}")
        };
        assert_eq!(retry_after, expected, "{prepared:?}");
        assert!(reason.starts_with("Invoke: "), "{reason}");
        assert_eq!(aws.made().len(), 1, "the client must not retry by itself");
    }
}

#[tokio::test]
async fn throttling_reason_names_the_limit_that_was_reached() {
    let (status, headers, _) = error(429, "TooManyRequestsException");
    let limit = "ReservedFunctionConcurrentInvocationLimitExceeded";
    let body = json!({"Message": "Rate Exceeded.", "Reason": limit}).to_string();
    let (outcome, _) = run([(status, headers, body)]).await;
    let Outcome::Busy { reason, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(reason.ends_with(&format!("({limit})")), "{reason}");
}

#[tokio::test]
async fn invoke_errors_mean_rejecting_failure_or_unavailable() {
    let cases: [(u16, &str, Kind); 13] = [
        (403, "AccessDeniedException", REJECTING),
        (403, "ExpiredTokenException", REJECTING),
        (404, "ResourceNotFoundException", REJECTING),
        (502, "KMSAccessDeniedException", REJECTING),
        (409, "CodeArtifactUserDeletedException", REJECTING),
        (409, "CodeArtifactUserFailedException", REJECTING),
        (400, "ModeNotSupportedException", REJECTING),
        (409, "NoPublishedVersionException", REJECTING),
        (413, "RequestTooLargeException", FAILURE),
        (400, "InvalidRequestContentException", FAILURE),
        (415, "UnsupportedMediaTypeException", FAILURE),
        (400, "RecursiveInvocationException", UNAVAILABLE),
        (500, "ServiceException", UNAVAILABLE),
    ];
    for (status, code, ends) in cases {
        let (outcome, aws) = run([error(status, code)]).await;
        assert_eq!(outcome, ends(format!("Invoke: {code}: because")));
        // The client must not use its own retries.
        assert_eq!(aws.made().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn client_does_not_retry_a_broken_connection() {
    let (outcome, aws) = run([response(0, "")]).await;
    let reason = reason(&outcome, UNAVAILABLE);
    assert!(reason.contains("connection reset"), "{reason}");
    assert_eq!(aws.made().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_runners_timeout_ends_an_invocation() {
    let second = Duration::from_secs(1);
    let short = TimeoutConfig::builder()
        .read_timeout(second)
        .operation_attempt_timeout(second)
        .operation_timeout(second)
        .build();
    for (timeout, expected) in [(61, true), (59, false)] {
        let aws = FakeAws::returning([response(200, "null")]).after(60 * second);
        let config = aws.config().to_builder().timeout_config(short.clone());
        let client = Client::new(&config.build());
        let runner = LambdaRunner::new(&client, ARN, timeout * second);
        let outcome = runner.run(&task("a")).await;
        match expected {
            true => assert_eq!(outcome, Outcome::Success),
            false => drop(reason(&outcome, UNAVAILABLE)),
        }
        assert_eq!(aws.made().len(), 1);
    }
}
