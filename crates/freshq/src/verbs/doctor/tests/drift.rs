//! Tests differences from the template in variables, policies and event buses, and creation times.

use super::*;

async fn remedies(fake: &Fake, store: &Arc<MemoryStore>) -> Vec<String> {
    let json = report_of(fake.clone(), store.clone()).await.json;
    let findings = json["findings"].as_array().unwrap();
    let remedy = |finding: &Value| finding["remedy"].as_str().unwrap().to_owned();
    findings.iter().map(remedy).collect()
}

#[tokio::test(start_paused = true)]
async fn changed_variables_are_found_with_the_command_that_restores_them() {
    let (store, mut fake) = (Arc::default(), Fake::healthy());
    let settings = "/Environment/Variables/SETTINGS_PROCESS_TASKS";
    fake.set("process", settings, json!(r#"{"concurrency":100}"#));
    fake.set("process", "/Environment/Variables/TABLE", json!("another"));
    // Only CloudFormation knows the value of a dynamic reference.
    fake.set("process", "/Environment/Variables/TOKEN", json!("a token"));
    let found = findings(&fake, &store).await;
    assert_eq!(
        found,
        [
            "function the-process (process): the variable SETTINGS_PROCESS_TASKS differs: concurrency is 100, and 10 in the template",
            "function the-process (process): the variable TABLE differs from the template",
        ]
    );
    let command = "aws lambda get-function-configuration --function-name the-process --query Environment --output json | \
                   jq -c --arg v '{\"concurrency\":10}' '.Variables.SETTINGS_PROCESS_TASKS=$v' | \
                   xargs -0 aws lambda update-function-configuration --function-name the-process --environment";
    assert_eq!(remedies(&fake, &store).await[0], command);
}

#[tokio::test(start_paused = true)]
async fn permissions_that_a_policy_lacks_are_found_with_the_command_that_restores_them() {
    let (store, mut fake) = (Arc::default(), Fake::healthy());
    let table = json!("arn:aws:dynamodb:y:1:table/the-table");
    let statement = |action: &str, resource: &Value| json!({ "Action": action, "Effect": "Allow", "Resource": resource });
    let publish = statement("sns:Publish", &json!("the-topic"));
    // The same permissions in separate statements are not a finding.
    let apart = ["dynamodb:GetItem", "dynamodb:UpdateItem"];
    let [read, write] = apart.map(|action| statement(action, &table));
    let place = "policy allow of role the-role (policy): ";
    for (statements, what) in [
        (json!([read, write, publish]), None),
        (
            json!([read, publish]),
            Some("it lacks dynamodb:UpdateItem, which the template allows"),
        ),
        (
            json!([read, statement("dynamodb:UpdateItem", &json!("*")), publish]),
            Some(
                "it lacks dynamodb:UpdateItem, which the template allows, and allows dynamodb:UpdateItem differently",
            ),
        ),
        (
            json!([
                read,
                write,
                publish,
                statement("sqs:SendMessage", &json!("*"))
            ]),
            Some("it allows sqs:SendMessage, which the template does not"),
        ),
    ] {
        fake.set("policy", "/PolicyDocument/Statement", statements);
        let wanted: Vec<_> = what.iter().map(|what| format!("{place}{what}")).collect();
        assert_eq!(findings(&fake, &store).await, wanted);
    }
    fake.now.insert("policy".to_owned(), None);
    assert_eq!(
        findings(&fake, &store).await,
        [format!("{place}it does not exist")]
    );
    let command = "aws iam put-role-policy --role-name the-role --policy-name allow --policy-document '{\"Statement\":[\
                   {\"Action\":[\"dynamodb:UpdateItem\",\"dynamodb:GetItem\"],\"Effect\":\"Allow\",\"Resource\":\"arn:aws:dynamodb:y:1:table/the-table\"},\
                   {\"Action\":\"sns:Publish\",\"Effect\":\"Allow\",\"Resource\":[\"the-topic\"]}]}'";
    assert_eq!(remedies(&fake, &store).await, [command]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_event_bus_is_found() {
    let (store, mut fake) = (Arc::default(), Fake::healthy());
    fake.now.insert("of count-shed".to_owned(), None);
    let found = findings(&fake, &store).await;
    assert_eq!(
        found,
        ["event bus orders (of count-shed): it does not exist"]
    );
    let remedies = remedies(&fake, &store).await;
    assert!(remedies[0].starts_with("aws events create-event-bus --name orders;"));
}

#[tokio::test(start_paused = true)]
async fn creation_times_in_seconds_and_in_the_future_are_found() {
    let store = Arc::<MemoryStore>::default();
    let put = |id: &str, created| {
        let record = Record::pending(created, Ttl::Seconds(EpochSeconds(1_900_000_000)));
        store.put(TaskId::from_stored(id), record);
    };
    put("ahead", NOW.plus(Duration::from_secs(59)));
    assert!(findings(&Fake::healthy(), &store).await.is_empty());
    put("day", NOW.plus(Duration::from_secs(86_400)));
    put("seconds", Millis(NOW.0 / 1_000));
    let found = findings(&Fake::healthy(), &store).await;
    assert_eq!(
        found,
        [
            "the pending tasks: taskCreated of task seconds is in seconds: 1800000000",
            "the pending tasks: taskCreated of task day is in the future: 1800086400000, in 1day",
        ]
    );
}
