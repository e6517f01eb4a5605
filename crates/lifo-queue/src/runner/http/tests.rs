//! Tests of the requests and the outcome of each response, with servers on the local machine.

mod secret_header;
mod server;
mod signature;

use std::time::{Duration, Instant, SystemTime};

use axum::body::Body;
use axum::http::Response;
use serde_json::json;

use self::server::{After, Server, closed_port, raw};
use super::super::samples::{FAILURE, REJECTING, UNAVAILABLE, reason, task};
use super::*;

const PATIENT: Duration = Duration::from_secs(10);

fn runner(url: &str, timeout: Duration) -> HttpRunner {
    HttpRunner::new(url.parse().unwrap(), Auth::None, timeout)
}

async fn outcome(url: &str) -> Outcome {
    runner(url, PATIENT).run(&task("task-1")).await
}

/// The outcome of a response with this status, header and body.
async fn outcome_of(status: u16, header: Option<(&str, &str)>, body: &'static str) -> Outcome {
    let header = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let server = Server::start(move |_, _| {
        let mut response = Response::builder().status(status);
        if let Some((name, value)) = &header {
            response = response.header(name, value);
        }
        response.body(Body::from(body)).unwrap()
    })
    .await;
    outcome(&server.url("/tasks")).await
}

#[tokio::test]
async fn task_is_posted_as_json() {
    let server = Server::start(|_, _| Response::new(Body::empty())).await;
    let outcome = outcome(&server.url("/tasks?to=a%20b")).await;
    assert_eq!(outcome, Outcome::Success);

    let calls = server.calls();
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!(
        (call.method.as_str(), call.uri.as_str()),
        ("POST", "/tasks?to=a%20b")
    );
    assert_eq!(call.header("content-type"), Some("application/json"));
    assert_eq!(
        call.header("content-length"),
        Some(call.body.len().to_string().as_str())
    );
    assert_eq!(call.header("idempotency-key"), Some("task-1"));
    assert_eq!(call.header("freshq-attempt"), Some("2"));
    assert_eq!(call.header("user-agent"), Some(USER_AGENT));
    assert_eq!(call.header("accept-encoding"), Some("identity"));
    let body: serde_json::Value = serde_json::from_slice(&call.body).unwrap();
    let expected = json!({
        "taskId": "task-1", "taskCreated": 1_700_000_000_123_i64, "attempt": 2,
        "expiresAt": 1_700_003_600, "payload": {"order": 7},
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn id_that_is_invalid_in_a_header_is_percent_encoded() {
    let server = Server::start(|_, _| Response::new(Body::empty())).await;
    let runner = runner(&server.url("/"), PATIENT);
    let ids = [
        ("order:7/a#b", "order:7/a#b"),
        ("é 1", "%C3%A9%201"),
        ("100%", "100%25"),
        ("a\r\nHost: evil", "a%0D%0AHost:%20evil"),
    ];
    for (id, _) in ids {
        assert_eq!(runner.run(&task(id)).await, Outcome::Success);
    }
    for ((id, key), call) in ids.into_iter().zip(server.calls()) {
        assert_eq!(call.header("idempotency-key"), Some(key));
        let decoded = percent_encoding::percent_decode_str(key)
            .decode_utf8()
            .unwrap();
        assert_eq!(decoded, id);
    }
}

#[tokio::test]
async fn http_status_determines_the_outcome() {
    for status in [200, 201, 202, 204, 299] {
        let outcome = outcome_of(status, None, "").await;
        assert_eq!(outcome, Outcome::Success, "{status}");
    }
    for (kind, statuses) in [
        (FAILURE, &[400, 402, 405, 410, 413, 422, 451, 499][..]),
        (REJECTING, &[401, 403, 404]),
        (UNAVAILABLE, &[500, 501, 502, 504, 507, 599, 600, 999]),
    ] {
        for status in statuses {
            let outcome = outcome_of(*status, None, "no\r\n such order").await;
            let status = http::StatusCode::from_u16(*status).unwrap();
            assert_eq!(outcome, kind(format!("HTTP {status}: no such order")));
        }
    }
}

#[tokio::test]
async fn busy_honors_retry_after_seconds_and_dates() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
    for status in [408, 425, 429, 503, 529] {
        let wait = async |header| match outcome_of(status, header, "later").await {
            Outcome::Busy {
                retry_after,
                reason,
            } => {
                assert!(reason.starts_with(&format!("HTTP {status} ")), "{reason}");
                assert!(reason.ends_with(": later"), "{reason}");
                retry_after
            }
            other => panic!("{status}: {other:?}"),
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(wait(None).await, None);
        assert_eq!(wait(Some(("retry-after", "7"))).await, seconds(7));
        assert_eq!(wait(Some(("retry-after", "3.5"))).await, seconds(4));
        assert_eq!(wait(Some(("Retry-After", "86400"))).await, seconds(900));
        assert_eq!(wait(Some(("retry-after", "later"))).await, None);
        let asked = wait(Some(("retry-after", &date))).await.unwrap();
        let about = Duration::from_secs(90)..=Duration::from_secs(100);
        assert!(about.contains(&asked), "{asked:?}");
    }
}

#[tokio::test]
async fn status_with_a_valid_retry_after_means_busy() {
    for status in [403, 409, 413, 502] {
        let outcome = outcome_of(status, Some(("retry-after", "30.0")), "").await;
        let Outcome::Busy { retry_after, .. } = outcome else {
            panic!("{status}: {outcome:?}")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(30)));
    }
    let later = Some(("retry-after", "later"));
    reason(&outcome_of(403, later, "").await, REJECTING);
    reason(&outcome_of(413, later, "").await, FAILURE);
    reason(
        &outcome_of(404, Some(("retry-after", "30")), "").await,
        REJECTING,
    );
}

#[tokio::test]
async fn conflict_with_an_earlier_run_of_the_same_task_means_busy() {
    let server = Server::start(|_, _| {
        let response = Response::builder().status(409);
        response.body(Body::empty()).unwrap()
    })
    .await;
    let runner = runner(&server.url("/tasks"), PATIENT);
    let mut first = task("task-1");
    first.total_attempts = 1;
    reason(&runner.run(&first).await, FAILURE);
    let mut again = first;
    again.total_attempts = 2;
    let outcome = runner.run(&again).await;
    let Outcome::Busy { retry_after, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(retry_after, None);
}

#[tokio::test]
async fn redirects_are_not_followed_and_mean_rejecting() {
    for status in [301, 302, 303, 307, 308] {
        let server = Server::start(move |call, _| {
            let status = if call.uri == "/tasks" { status } else { 200 };
            let response = Response::builder()
                .status(status)
                .header("location", "/elsewhere?signature=s3cret#top");
            response.body(Body::empty()).unwrap()
        })
        .await;
        let reason = reason(&outcome(&server.url("/tasks")).await, REJECTING);
        let to = " to /elsewhere (redirects are not followed";
        assert!(reason.contains(to), "{reason}");
        assert_eq!(server.calls().len(), 1);
    }
    reason(&outcome_of(304, None, "").await, REJECTING);
}

#[tokio::test]
async fn missing_or_malformed_response_means_unavailable() {
    let closed = closed_port();
    let hanging = raw(b"", After::Hang).await;
    let rude = raw(b"", After::Close).await;
    let garbage = raw(b"220 mail.example.com ESMTP\r\n", After::Close).await;
    let cases = [
        (closed.url("http"), "Connection refused"),
        (hanging.url("http"), "no complete response within 300ms"),
        (rude.url("http"), "no response: "),
        (garbage.url("http"), "no response: "),
        // This server does not support TLS.
        (garbage.url("https"), "no response: "),
    ];
    for (url, why) in cases {
        let runner = runner(&url, Duration::from_millis(300));
        let reason = reason(&runner.run(&task("a")).await, UNAVAILABLE);
        assert!(reason.contains(why), "{url}: {reason}");
        assert!(!reason.contains('\n'), "{reason}");
    }
}

#[tokio::test]
async fn success_status_is_the_result_even_if_the_body_never_ends() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    for after in [After::Close, After::Hang] {
        let server = raw(half, after).await;
        assert_eq!(outcome(&server.url("http")).await, Outcome::Success);
    }
}

#[tokio::test]
async fn reason_names_the_encoding_of_an_encoded_body() {
    let encoded = outcome_of(422, Some(("content-encoding", "gzip")), "\u{1f}\u{8b}").await;
    let why = "HTTP 422 Unprocessable Entity: (body with Content-Encoding gzip)";
    assert_eq!(encoded, FAILURE(why.to_owned()));
    let plain = outcome_of(422, Some(("content-encoding", "identity")), "why").await;
    assert_eq!(
        plain,
        FAILURE("HTTP 422 Unprocessable Entity: why".to_owned())
    );
}

#[tokio::test]
async fn error_status_determines_the_outcome_even_if_the_body_is_incomplete() {
    let half = b"HTTP/1.1 422 X\r\ncontent-length: 100\r\n\r\nhalf";
    let failure = FAILURE("HTTP 422 Unprocessable Entity: half".to_owned());
    let broken = raw(half, After::Close).await;
    assert_eq!(outcome(&broken.url("http")).await, failure);

    let slow = raw(half, After::Hang).await;
    let started = Instant::now();
    assert_eq!(outcome(&slow.url("http")).await, failure);
    assert!(started.elapsed() < PATIENT / 2, "{:?}", started.elapsed());
}

#[tokio::test]
async fn body_is_read_and_quoted_up_to_a_limit() {
    let endless = |status| {
        Server::start(move |_, _| {
            let chunks =
                futures::stream::repeat_with(|| Ok::<_, std::io::Error>("waffle ".repeat(99)));
            Response::builder()
                .status(status)
                .body(Body::from_stream(chunks))
                .unwrap()
        })
    };
    let success = outcome(&endless(200).await.url("/")).await;
    assert_eq!(success, Outcome::Success);
    let outcome = outcome(&endless(500).await.url("/")).await;
    let reason = reason(&outcome, UNAVAILABLE);
    assert!(reason.ends_with('…'), "{reason}");
    assert!(reason.len() < 300, "{reason}");
}

#[tokio::test]
async fn non_utf8_headers_and_bodies_are_accepted() {
    let latin: &[u8] =
        b"HTTP/1.1 200 OK\r\nretry-after: \xe9\r\nx-note: caf\xe9\r\ncontent-length: 2\r\n\r\n\xff\xfe";
    let success = outcome(&raw(latin, After::Close).await.url("http")).await;
    assert_eq!(success, Outcome::Success);
    let busy: &[u8] = b"HTTP/1.1 503 X\r\nretry-after: \xe9\r\ncontent-length: 1\r\n\r\n\xff";
    let outcome = outcome(&raw(busy, After::Close).await.url("http")).await;
    let Outcome::Busy {
        retry_after: None, ..
    } = outcome
    else {
        panic!("{outcome:?}")
    };
}

#[tokio::test]
async fn reason_and_debug_output_hide_the_query_of_the_url() {
    let runner = runner("http://127.0.0.1:1/tasks?key=hidden", PATIENT);
    let reason = reason(&runner.run(&task("a")).await, UNAVAILABLE);
    assert!(!reason.contains("hidden"), "{reason}");
    assert!(!format!("{runner:?}").contains("hidden"), "{runner:?}");
}
