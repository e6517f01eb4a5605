use super::super::Outcome;
use super::super::fake_aws::{FakeAws, response};
use super::super::samples::task;
use super::*;

const TASK_TIMEOUT: Duration = Duration::from_secs(30);
const SECRET: &str = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:token-AbCdEf";
const FUNCTION: &str = "arn:aws:lambda:us-east-2:111122223333:function:work";

fn aws() -> SdkConfig {
    FakeAws::returning([response(200, "null")]).config()
}

fn build(json: &str) -> Result<Arc<dyn TaskRunner>, RunnerConfigError> {
    json.parse::<RunnerConfig>()?.build(&aws(), TASK_TIMEOUT)
}

#[test]
fn documented_configurations_round_trip() {
    let documented = [
        r#"{"kind":"simulated","capacity":3,"durationMs":15000}"#.to_owned(),
        r#"{"kind":"simulated","capacity":3,"durationMs":15000,"rates":{"failure":0.01,"retry":0.05,"busy":0.0}}"#.to_owned(),
        r#"{"kind":"http","url":"https://api.example.com/tasks"}"#.to_owned(),
        format!(
            r#"{{"kind":"http","url":"https://api.example.com/tasks","auth":{{"kind":"header","name":"Authorization","secretArn":"{SECRET}"}},"timeoutMs":20000}}"#
        ),
        r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"sigv4","service":"execute-api","region":"eu-west-1"}}"#.to_owned(),
        format!(r#"{{"kind":"lambda","functionArn":"{FUNCTION}"}}"#),
    ];
    for json in documented {
        let config: RunnerConfig = json.parse().unwrap();
        assert_eq!(serde_json::to_string(&config).unwrap(), json);
        assert!(build(&json).is_ok(), "{json}");
    }
}

#[test]
fn configuration_errors_name_the_field_and_the_remedy() {
    let cases = [
        ("", "cannot be read"),
        ("{}", "missing field `kind`"),
        (r#"{"kind":"ftp"}"#, "unknown variant `ftp`"),
        (
            r#"{"kind":"simulated","capacity":3}"#,
            "missing field `durationMs`",
        ),
        (
            r#"{"kind":"simulated","capacity":3,"durationMs":1,"x":1}"#,
            "unknown field `x`",
        ),
        (
            r#"{"kind":"simulated","capacity":0,"durationMs":1}"#,
            "capacity is 0",
        ),
        (
            r#"{"kind":"simulated","capacity":1,"durationMs":1,"rates":{"retry":0.6,"busy":0.5}}"#,
            "rates are not shares",
        ),
        (
            r#"{"kind":"simulated","capacity":1,"durationMs":1,"rates":{"failure":-0.1}}"#,
            "rates are not shares",
        ),
        (
            r#"{"kind":"simulated","capacity":1,"durationMs":1,"rates":{"fail":0.1}}"#,
            "unknown field `fail`",
        ),
        (r#"{"kind":"http"}"#, "missing field `url`"),
        (
            r#"{"kind":"http","url":"http://a.example.com/"}"#,
            "url is http to \"a.example.com\"",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","timeoutMs":0}"#,
            "timeoutMs is 0",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","timeoutMS":1}"#,
            "unknown field `timeoutMS`",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"header","name":"A"}}"#,
            "missing field `secretArn`",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"header","name":"A","secretArn":"token"}}"#,
            "auth.secretArn is \"token\"; give the full ARN, arn:aws:secretsmanager:",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"header","name":"Host","secretArn":"arn:aws:secretsmanager:eu-west-1:1:secret:x"}}"#,
            "auth.name \"Host\" is set by the request itself",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"sigv4","service":"","region":"eu-west-1"}}"#,
            "auth.service is empty",
        ),
        (
            r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"sigv4","service":"lambda","region":""}}"#,
            "auth.region is empty",
        ),
        (
            r#"{"kind":"lambda","functionArn":"work"}"#,
            "functionArn is \"work\"; give the full ARN",
        ),
        (
            r#"{"kind":"lambda","functionArn":"arn:aws:sns:eu-west-1:1:topic"}"#,
            "functionArn is \"arn:aws:sns:eu-west-1:1:topic\"",
        ),
        (
            r#"{"kind":"custom","binary":"x"}"#,
            "unknown field `binary`",
        ),
        (
            r#"{"kind":"custom"}"#,
            "TaskRunner.rust({ manifestPath, binary })",
        ),
    ];
    for (json, problem) in cases {
        let error = build(json)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(error.contains(problem), "{json}: {error}");
    }
}

#[test]
fn sigv4_without_credentials_is_rejected() {
    let json = r#"{"kind":"http","url":"https://a.example.com/","auth":{"kind":"sigv4","service":"lambda","region":"eu-west-1"}}"#;
    let config: RunnerConfig = json.parse().unwrap();
    let error = config
        .build(&SdkConfig::builder().build(), TASK_TIMEOUT)
        .err()
        .unwrap();
    assert!(error.to_string().contains("no AWS credentials"), "{error}");
}

#[tokio::test]
async fn function_is_invoked_in_the_region_of_its_arn() {
    let aws = FakeAws::returning([response(200, "null")]);
    let config: RunnerConfig = format!(r#"{{"kind":"lambda","functionArn":"{FUNCTION}"}}"#)
        .parse()
        .unwrap();
    let runner = config.build(&aws.config(), TASK_TIMEOUT).unwrap();
    assert_eq!(runner.run(&task("a")).await, Outcome::Success);
    let made = aws.made();
    assert!(
        made[0]
            .uri
            .starts_with("https://lambda.us-east-2.amazonaws.com/"),
        "{made:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn simulated_run_takes_the_configured_duration() {
    let runner = build(r#"{"kind":"simulated","capacity":1,"durationMs":15000}"#).unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!(runner.run(&task("a")).await, Outcome::Success);
    assert_eq!(started.elapsed(), Duration::from_secs(15));
}
