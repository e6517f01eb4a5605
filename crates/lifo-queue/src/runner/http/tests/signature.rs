//! Tests of Signature Version 4.

use aws_smithy_types::date_time::{DateTime, Format};

use super::super::super::fake_aws::{FakeAws, response};
use super::server::Call;
use super::*;

fn signing(url: &str, aws: &FakeAws) -> HttpRunner {
    let credentials = aws.config().credentials_provider().unwrap();
    let (service, region) = ("execute-api".to_owned(), "eu-central-1".to_owned());
    let auth = Auth::SigV4 {
        service,
        region,
        credentials,
    };
    HttpRunner::new(url.parse().unwrap(), auth, PATIENT)
}

/// The `Authorization` header that a verifier computes from the received request.
fn signature_of(call: &Call, host: &str) -> String {
    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    let stamp = call.header("x-amz-date").unwrap();
    let (d, t) = stamp.split_once('T').unwrap();
    let iso = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &d[..4],
        &d[4..6],
        &d[6..],
        &t[..2],
        &t[2..4],
        &t[4..6]
    );
    let time = DateTime::from_str(&iso, Format::DateTime).unwrap();
    let credentials = aws_credential_types::Credentials::new(
        "AKIDEXAMPLE",
        "hidden-key",
        Some("hidden-token".into()),
        None,
        "test",
    );
    let identity = credentials.into();
    let parameters = aws_sigv4::sign::v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-central-1")
        .name("execute-api")
        .time(time.try_into().unwrap())
        .settings(SigningSettings::default())
        .build()
        .unwrap()
        .into();
    let authorization = call.header("authorization").unwrap();
    let signed = authorization
        .split("SignedHeaders=")
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap();
    let own = ["host", "x-amz-date", "x-amz-security-token"];
    let headers = signed.split(';').filter(|name| !own.contains(name));
    let request = SignableRequest::new(
        &call.method,
        format!("http://{host}{}", call.uri),
        headers.map(|name| (name, call.header(name).unwrap())),
        SignableBody::Bytes(&call.body),
    )
    .unwrap();
    let (instructions, _) = sign(request, &parameters).unwrap().into_parts();
    let mut bare = Request::new(());
    instructions.apply_to_request_http1x(&mut bare);
    bare.headers()["authorization"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn signature_matches_the_request_that_the_server_receives() {
    let server = Server::start(|_, _| Response::new(Body::empty())).await;
    let aws = FakeAws::returning([response(200, "unused")]);
    let runner = signing(&server.url("/prod/tasks?b=2&a=x%20y"), &aws);
    assert_eq!(runner.run(&task("é 1")).await, Outcome::Success);

    let call = &server.calls()[0];
    let authorization = call.header("authorization").unwrap();
    let date = &call.header("x-amz-date").unwrap()[..8];
    let start = format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{date}/eu-central-1/execute-api/aws4_request, \
         SignedHeaders=content-type;freshq-attempt;host;idempotency-key;x-amz-date;\
         x-amz-security-token, Signature="
    );
    let signature = authorization.strip_prefix(&start).expect(authorization);
    assert_eq!(signature.len(), 64);
    assert!(signature.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(call.header("x-amz-security-token"), Some("hidden-token"));
    assert_eq!(
        authorization,
        signature_of(call, call.header("host").unwrap())
    );

    let mut tampered = call.clone();
    tampered.body.push(b' ');
    assert_ne!(
        authorization,
        signature_of(&tampered, call.header("host").unwrap())
    );
}

#[tokio::test]
async fn session_token_is_masked_in_the_reason() {
    let server = Server::start(|call, _| {
        let token = call.header("x-amz-security-token").unwrap();
        let text = format!("no match for x-amz-security-token:{token}");
        Response::builder()
            .status(403)
            .body(Body::from(text))
            .unwrap()
    })
    .await;
    let aws = FakeAws::returning([response(200, "unused")]);
    let outcome = signing(&server.url("/"), &aws).run(&task("a")).await;
    let reason = "HTTP 403 Forbidden: no match for x-amz-security-token:***".to_owned();
    assert_eq!(outcome, Outcome::Rejecting { reason });
}
