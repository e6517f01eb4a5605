//! Tests that run `freshq` as a process. Its real AWS clients use an embedded DynamoDB, and a small
//! server instead of CloudFormation, SNS and STS.
#![allow(clippy::unwrap_used)]

mod account;
mod aws;

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lifo_queue::schema;
use lifo_queue::time::{Clock, SystemClock};
use simulator::dynamodb::{EmbeddedDynamo, TABLE};
use simulator::texts::has;

use crate::aws::Aws;

/// One run of `freshq` against these services.
struct Run<'a> {
    dynamodb: &'a EmbeddedDynamo,
    aws: &'a Aws,
    credentials: bool,
    /// Additional environment variables. An empty value removes the variable.
    environment: Vec<(&'static str, &'static str)>,
}

impl<'a> Run<'a> {
    fn new(dynamodb: &'a EmbeddedDynamo, aws: &'a Aws) -> Self {
        Self {
            dynamodb,
            aws,
            credentials: true,
            environment: Vec::new(),
        }
    }
}

impl Run<'_> {
    /// Runs the command. Standard input is empty, as in a script.
    fn freshq(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_freshq"));
        command
            .args(line.split_whitespace())
            .stdin(Stdio::null())
            .env_clear()
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
            .env("AWS_ENDPOINT_URL", self.aws.endpoint())
            .env(
                "AWS_ENDPOINT_URL_DYNAMODB",
                format!("http://{}", self.dynamodb.address),
            );
        if self.credentials {
            command
                .env("AWS_ACCESS_KEY_ID", "local")
                .env("AWS_SECRET_ACCESS_KEY", "local");
        }
        for (name, value) in &self.environment {
            match *value {
                "" => command.env_remove(name),
                value => command.env(name, value),
            };
        }
        command.output().unwrap()
    }
}

async fn put_failed(client: &Client) {
    let deadline = SystemClock
        .now()
        .ceil_seconds()
        .plus(Duration::from_secs(3_600));
    let put = client
        .put_item()
        .table_name(TABLE)
        .item(schema::TASK_ID, AttributeValue::S("a".to_owned()))
        .item(schema::TASK_STATUS, AttributeValue::S("FAILURE".to_owned()))
        .item(
            schema::TASK_CREATED,
            AttributeValue::N("1800000000000".to_owned()),
        )
        .item(schema::TTL, AttributeValue::N(deadline.0.to_string()));
    put.send().await.unwrap();
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn failed(output: &Output, expected: i32) -> String {
    assert_eq!(
        (code(output), stdout(output).as_str()),
        (expected, ""),
        "{}",
        stderr(output)
    );
    let line = stderr(output);
    assert!(
        line.starts_with("freshq: ") && line.trim_end().lines().count() == 1,
        "{line}"
    );
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_one_line_with_a_remedy_and_an_exit_code() {
    let (dynamodb, aws) = (EmbeddedDynamo::start().await.unwrap(), Aws::start().await);
    let mut run = Run::new(&dynamodb, &aws);
    let line = failed(&run.freshq("status --env staging"), 3);
    let text =
        "stack LifoQueue-staging does not exist in account 111111111111, us-east-1 (is it deployed";
    has(&line, text);
    aws.deploy("LifoQueue-dev", "no-such-table");
    let line = failed(&run.freshq("status --env dev"), 3);
    assert!(line.contains("ResourceNotFoundException"), "{line}");
    assert!(line.contains("check the name of the table"), "{line}");
    aws.deploy("LifoQueue-dev", "");
    let line = failed(&run.freshq("status --env dev"), 3);
    assert!(line.contains("no output QueueTableName"), "{line}");
    aws.deploy("LifoQueue-dev", TABLE);
    put_failed(&dynamodb.client).await;
    let line = failed(&run.freshq("redrive --all --env dev"), 2);
    assert!(line.contains("use --yes"), "{line}");
    run.credentials = false;
    let line = failed(&run.freshq("status --env dev"), 3);
    assert!(line.contains("aws sso login"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn region_option_takes_precedence() {
    let (dynamodb, aws) = (EmbeddedDynamo::start().await.unwrap(), Aws::start().await);
    let mut run = Run::new(&dynamodb, &aws);
    let elsewhere = run.freshq("status --region eu-west-1 --stack Missing");
    let text = "stack Missing does not exist in account 111111111111, eu-west-1";
    has(&failed(&elsewhere, 3), text);
    run.credentials = false;
    let completions = run.freshq("completions bash");
    assert!(stdout(&completions).contains("_freshq()"));
}

#[test]
fn closed_output_pipe_is_not_an_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_freshq"));
    let command = command.args(["completions", "bash"]);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = piped.spawn().unwrap();
    drop(running.stdout.take());
    let ended = running.wait_with_output().unwrap();
    assert_eq!((code(&ended), stderr(&ended)), (0, String::new()));
}
