//! Tests of authentication by a header that contains a secret.

use aws_sdk_secretsmanager::Client;
use futures::future::join_all;

use super::super::super::fake_aws::{FakeAws, Prepared, response};
use super::*;

const ARN: &str = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:token-AbCdEf";

fn secret(text: &str) -> Prepared {
    response(200, json!({"ARN": ARN, "SecretString": text}).to_string())
}

fn error(status: u16, code: &str) -> Prepared {
    let body = json!({"__type": code, "message": "because"});
    response(status, body.to_string())
}

fn with_secret(url: &str, aws: &FakeAws) -> HttpRunner {
    let client = Client::new(&aws.config());
    let auth = Auth::header("Authorization", client, ARN).unwrap();
    HttpRunner::new(url.parse().unwrap(), auth, PATIENT)
}

async fn server_that_accepts(value: &'static str) -> Server {
    server_that_returns(401, value).await
}

/// A server that accepts one value of `Authorization`. For any other value, it returns the status
/// `rejection` and echoes the value.
async fn server_that_returns(rejection: u16, value: &'static str) -> Server {
    Server::start(move |call, _| {
        let given = call.header("authorization").unwrap_or("nothing").to_owned();
        let status = if given == value { 200 } else { rejection };
        Response::builder()
            .status(status)
            .body(Body::from(format!("got {given}")))
            .unwrap()
    })
    .await
}

#[tokio::test]
async fn secret_is_fetched_once_and_sent_as_the_entire_header_value() {
    let server = server_that_accepts("Bearer s3cret").await;
    let aws = FakeAws::returning([secret("Bearer s3cret\n")]);
    let runner = with_secret(&server.url("/"), &aws);

    let tasks = ["a", "b", "c", "d"].map(task);
    let outcomes = join_all(tasks.iter().map(|task| runner.run(task))).await;

    assert_eq!(outcomes, vec![Outcome::Success; 4]);
    let requests = aws.made();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].body.contains(ARN), "{}", requests[0].body);
    assert!(!format!("{runner:?}").contains("s3cret"), "{runner:?}");
}

#[tokio::test]
async fn runner_fetches_a_rotated_secret_and_retries_the_call() {
    for rejection in [401, 403] {
        let server = server_that_returns(rejection, "new-value").await;
        let aws = FakeAws::returning([secret("old-value"), secret("new-value")]);
        let runner = with_secret(&server.url("/"), &aws);

        assert_eq!(runner.run(&task("a")).await, Outcome::Success);
        assert_eq!(runner.run(&task("b")).await, Outcome::Success);

        let given: Vec<_> = server
            .calls()
            .iter()
            .map(|call| call.header("authorization").unwrap().to_owned())
            .collect();
        assert_eq!(given, ["old-value", "new-value", "new-value"]);
        assert_eq!(aws.made().len(), 2);
    }
}

#[tokio::test]
async fn current_secret_that_is_rejected_repeatedly_is_refetched_once() {
    let server = server_that_returns(403, "another").await;
    let aws = FakeAws::returning([secret("Bearer current")]);
    let runner = with_secret(&server.url("/"), &aws);
    for id in ["a", "b", "c", "d"] {
        let outcome = runner.run(&task(id)).await;
        reason(&outcome, REJECTING);
    }
    // The secret is fetched at the first call, and after the first 403.
    assert_eq!((server.calls().len(), aws.made().len()), (4, 2));
}

#[tokio::test]
async fn concurrent_rejected_calls_fetch_a_rotated_secret_once() {
    let server = server_that_accepts("new-value").await;
    let aws = FakeAws::returning([secret("old-value"), secret("new-value")]);
    let runner = with_secret(&server.url("/"), &aws);

    let tasks = ["a", "b", "c", "d", "e"].map(task);
    let outcomes = join_all(tasks.iter().map(|task| runner.run(task))).await;

    assert_eq!(outcomes, vec![Outcome::Success; 5]);
    assert_eq!(aws.made().len(), 2);
}

#[tokio::test]
async fn unchanged_wrong_secret_means_rejecting_without_a_second_call() {
    let server = server_that_accepts("another").await;
    let aws = FakeAws::returning([secret("Bearer wrong-value")]);

    let outcome = with_secret(&server.url("/"), &aws).run(&task("a")).await;

    assert_eq!(
        reason(&outcome, REJECTING),
        "HTTP 401 Unauthorized: got ***"
    );
    assert_eq!((server.calls().len(), aws.made().len()), (1, 2));
}

#[tokio::test]
async fn rotated_secret_that_is_also_wrong_means_rejecting() {
    let server = server_that_accepts("another").await;
    let aws = FakeAws::returning([secret("first-value"), secret("second-value")]);
    let outcome = with_secret(&server.url("/"), &aws).run(&task("a")).await;
    reason(&outcome, REJECTING);
    assert_eq!((server.calls().len(), aws.made().len()), (2, 2));
}

#[tokio::test]
async fn request_is_not_sent_without_a_usable_secret() {
    let server = server_that_accepts("nothing").await;
    let binary = json!({"ARN": ARN, "SecretBinary": "AAEC"}).to_string();
    let errors = [
        (400, "AccessDeniedException: because", REJECTING),
        (400, "ResourceNotFoundException: because", REJECTING),
        (400, "InvalidRequestException: because", REJECTING),
        (400, "ThrottlingException: because", UNAVAILABLE),
        (500, "InternalServiceError: because", UNAVAILABLE),
    ];
    let errors = errors.map(|(status, why, kind)| {
        let code = why.trim_end_matches(": because");
        (error(status, code), kind, why)
    });
    let unusable = [
        (response(0, ""), UNAVAILABLE, "connection reset"),
        (response(200, binary), REJECTING, "contains no text"),
        (secret(" "), REJECTING, "contains no text"),
        (
            secret("two\nlines"),
            REJECTING,
            "characters that no header can",
        ),
    ];
    for (prepared, kind, why) in errors.into_iter().chain(unusable) {
        let aws = FakeAws::returning([prepared]);
        let outcome = with_secret(&server.url("/"), &aws).run(&task("a")).await;
        let reason = reason(&outcome, kind);
        assert!(reason.contains(why), "{reason}");
        assert!(!reason.contains("lines"), "{reason}");
    }
    assert!(server.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn stale_secret_is_refetched_and_still_used_during_an_outage() {
    use super::super::secret::Secret;
    let ttl = Duration::from_secs(300);
    let denied = error(400, "AccessDeniedException");
    let aws = FakeAws::returning([secret("one"), secret("two"), response(0, ""), denied]);
    let config = aws.config().to_builder();
    let once = aws_sdk_secretsmanager::config::retry::RetryConfig::disabled();
    let secret = Secret::new(Client::new(&config.retry_config(once).build()), ARN, ttl);
    let value = async || secret.get().await.map(|text| text.as_str().to_owned());

    assert_eq!(value().await.unwrap(), "one");
    tokio::time::advance(ttl - Duration::from_secs(1)).await;
    assert_eq!(value().await.unwrap(), "one");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(value().await.unwrap(), "two");
    tokio::time::advance(ttl).await;
    assert_eq!(value().await.unwrap(), "two", "the network is down");
    // Secrets Manager is not called for every task.
    assert_eq!(value().await.unwrap(), "two");
    assert_eq!(aws.made().len(), 3);
    tokio::time::advance(Duration::from_secs(30)).await;
    // Access to the secret is now denied.
    reason(&value().await.unwrap_err(), REJECTING);
}

#[test]
fn reserved_and_malformed_secret_header_names_are_rejected() {
    let client = Client::new(&FakeAws::returning([secret("x")]).config());
    let reserved = "Host content-length Idempotency-Key Freshq-Attempt";
    for name in reserved.split(' ') {
        let error = Auth::header(name, client.clone(), ARN).unwrap_err();
        assert_eq!(error, InvalidHeaderName::Reserved(name.to_owned()));
    }
    let error = Auth::header("X Key", client, ARN).unwrap_err();
    assert_eq!(error, InvalidHeaderName::Syntax("X Key".to_owned()));
}
