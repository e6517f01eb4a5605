//! Tests which account and which queue a command uses.

use serde_json::Value;
use simulator::dynamodb::{EmbeddedDynamo, TABLE};
use simulator::texts::has;

use crate::aws::{Aws, DEV, PROD};
use crate::{Run, code, failed, put_failed, stderr, stdout};

/// An AWS configuration with the profile `prod`, its region and its keys.
const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/aws-config");

#[tokio::test(flavor = "multi_thread")]
async fn profile_option_takes_precedence_over_keys_in_the_environment() {
    let (dynamodb, aws) = (EmbeddedDynamo::start().await.unwrap(), Aws::start().await);
    aws.deploy("LifoQueue-dev", TABLE);
    let mut run = Run::new(&dynamodb, &aws);
    run.environment = vec![("AWS_CONFIG_FILE", CONFIGURATION)];
    let status = |line: &str| -> Value {
        let status = run.freshq(&format!("status --env dev --output json {line}"));
        serde_json::from_str(&stdout(&status)).unwrap_or_else(|_| panic!("{}", stderr(&status)))
    };
    assert_eq!(status("")["account"], DEV);
    assert!(aws.actions_of("key-of-prod").is_empty());
    let prod = status("--profile prod");
    assert_eq!(
        (&prod["account"], &prod["region"]),
        (&PROD.into(), &"us-east-1".into())
    );
    let paused = run.freshq("pause --env dev --for 1h --reason x --profile prod --output json");
    let paused: Value = serde_json::from_str(&stdout(&paused)).unwrap();
    assert_eq!(
        (&paused["paused"], &paused["account"]),
        (&true.into(), &PROD.into())
    );
    assert_eq!(
        aws.actions_of("local"),
        [""; 0],
        "no request has the keys of the environment"
    );
    let line = failed(&run.freshq("status --env dev --profile pord"), 2);
    assert!(line.contains("profile pord does not exist"), "{line}");
    assert!(aws.actions_of("local").is_empty());
    // Remove AWS_REGION, so that the command uses the profile's region.
    run.environment.push(("AWS_REGION", ""));
    let missing = run.freshq("status --env staging --profile prod");
    let line = failed(&missing, 3);
    has(&line, "in account 222222222222, eu-west-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_works_without_sts_and_shows_an_unknown_account() {
    let (dynamodb, aws) = (EmbeddedDynamo::start().await.unwrap(), Aws::start().await);
    aws.deploy("LifoQueue-dev", TABLE);
    aws.disconnect_sts();
    let run = Run::new(&dynamodb, &aws);
    let status = run.freshq("status --env dev");
    let shown = stdout(&status);
    assert!(shown.contains("account               unknown\n"), "{shown}");
    let paused = run.freshq("pause --env dev --for 1h --reason x");
    assert!(stdout(&paused).ends_with("LifoQueue-dev in account unknown, us-east-1\n"));
    assert_eq!(code(&paused), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_requests_its_account_at_most_once() {
    let (dynamodb, aws) = (EmbeddedDynamo::start().await.unwrap(), Aws::start().await);
    aws.deploy("LifoQueue-dev", TABLE);
    put_failed(&dynamodb.client).await;
    let run = Run::new(&dynamodb, &aws);
    for (line, requests) in [
        ("list", 0),
        ("show a", 0),
        ("redrive --all --dry-run", 0),
        ("status", 1),
        ("redrive --all", 1),
        ("redrive --all --yes", 1),
        ("cancel a", 1),
    ] {
        run.freshq(&format!("{line} --env dev"));
        let actions = aws.actions_of("local");
        let asked = actions
            .iter()
            .filter(|action| *action == "GetCallerIdentity");
        assert_eq!(asked.count(), requests, "{line}: {actions:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_variables_name_the_queue_unless_the_command_line_does() {
    let (dynamodb, aws) = (EmbeddedDynamo::start().await.unwrap(), Aws::start().await);
    for stack in ["LifoQueue-dev", "LifoQueue-test", "MyQueue"] {
        aws.deploy(stack, TABLE);
    }
    let mut run = Run::new(&dynamodb, &aws);
    let line = failed(&run.freshq("status"), 2);
    assert!(line.contains("set FRESHQ_ENV or FRESHQ_STACK"), "{line}");
    let line = failed(&run.freshq("agents"), 2);
    assert!(line.contains("set FRESHQ_ENV or FRESHQ_STACK"), "{line}");
    for (environment, line, queue) in [
        (vec![("FRESHQ_ENV", "dev")], "", "LifoQueue-dev"),
        (vec![("FRESHQ_ENV", "dev")], "--env test", "LifoQueue-test"),
        (vec![("FRESHQ_ENV", "dev")], "--stack MyQueue", "MyQueue"),
        (
            vec![("FRESHQ_STACK", "MyQueue")],
            "--env dev",
            "LifoQueue-dev",
        ),
        (
            vec![("FRESHQ_STACK", "MyQueue"), ("FRESHQ_ENV", "dev")],
            "",
            "MyQueue",
        ),
        (
            vec![("FRESHQ_ENV", "dev")],
            "--table tasks --process-tasks-topic arn:aws:sns:us-east-1:0:t",
            "tasks",
        ),
    ] {
        run.environment = environment;
        let status = run.freshq(&format!("status --output json {line}"));
        let status: Value = serde_json::from_str(&stdout(&status)).unwrap();
        assert_eq!(status["queue"], queue, "{:?} {line}", run.environment);
    }
    run.environment = vec![("FRESHQ_ENV", "dev")];
    let line = failed(&run.freshq("agents"), 3);
    assert!(
        line.contains("stack AgentQueue-dev does not exist"),
        "{line}"
    );
}
