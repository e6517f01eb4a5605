//! Tests doctor on a small stack whose settings are broken one at a time.

use std::sync::Arc;
use std::time::Duration;

use lifo_queue::control::{Carried, Claim, IdleTurns, OpenBreaker, Release};
use lifo_queue::observed::{LastResponse, Observed};
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{ControlStore, OperatorStore};
use lifo_queue::task::{TaskId, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;
use simulator::texts::has;
use uuid::Uuid;

use super::agents::calls;
use super::*;
use crate::confirm::NoTerminal;
use crate::deployed::{Kind, Message, Stack};
use crate::failure::Result;
use crate::function::Function;
use fake::Fake;

mod drift;
pub(crate) mod fake;
mod messages;

const NOW: Millis = Millis(1_800_000_000_000);

async fn report_of(fake: Fake, store: Arc<MemoryStore>) -> Report {
    let queue = Queue {
        deployed: Some(Arc::new(fake)),
        ..Queue::on(store, NOW)
    };
    let doctor = Doctor { agents: false };
    doctor.run(&queue, &mut NoTerminal).await.unwrap()
}

/// Returns the findings, each as "place: what".
async fn findings(fake: &Fake, store: &Arc<MemoryStore>) -> Vec<String> {
    let report = report_of(fake.clone(), store.clone()).await;
    let json = report.json;
    let findings = json["findings"].as_array().unwrap().clone();
    assert_eq!(report.exit == Exit::NotAll, !findings.is_empty());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .iter()
        .map(|finding| format!("{}: {}", text(&finding["place"]), text(&finding["what"])))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn healthy_stack_has_no_findings() {
    let report = report_of(Fake::healthy(), Arc::default()).await;
    assert_eq!(report.exit, Exit::Done, "{}", report.text);
    let lines = "downstream: https://orders.example/run\n\
                 LifoQueue-dev: settings checked: 64, findings: 0, not checked: 0";
    assert_eq!(report.text, lines);
}

#[tokio::test(start_paused = true)]
async fn doctor_reports_each_broken_setting() {
    let healthy = Fake::healthy();
    let mut broken = 0;
    for resource in &healthy.stack.resources {
        for setting in known::settings(resource.kind) {
            if resource.wanted.pointer(setting.0).is_none() {
                continue;
            }
            let mut fake = healthy.clone();
            fake.set(&resource.logical, setting.0, json!("broken"));
            let found = findings(&fake, &Arc::default()).await;
            let named = format!("{}: {}", resource.place(), &setting.0[1..]);
            assert!(found[0].starts_with(&named), "{named}: {found:?}");
            broken += 1;
        }
    }
    assert_eq!(broken, 44);
}

#[tokio::test(start_paused = true)]
async fn task_with_a_misspelled_status_is_found() {
    let mut fake = Fake::healthy();
    fake.set("table", "/Misspelled", json!({ "pending": "order-1" }));
    let found = findings(&fake, &Arc::default()).await;
    let what = "table the-table (table): at least one task has the status \"pending\" instead of \"PENDING\": order-1";
    assert_eq!(found, [what]);
}

#[tokio::test(start_paused = true)]
async fn missing_resources_failures_and_short_visibility_timeouts_are_found() {
    let store = Arc::<MemoryStore>::default();
    let mut fake = Fake::healthy();
    fake.now.insert("subscription".to_owned(), None);
    fake.set("failures", "/ApproximateNumberOfMessages", json!("3"));
    // 700 s differs from the template and is too short for the function's 120-second timeout.
    fake.set("intake", "/VisibilityTimeout", json!("700"));
    // Messages in a queue other than a failure queue are not a finding.
    fake.set("intake", "/ApproximateNumberOfMessages", json!("9"));
    fake.stack.status = "UPDATE_ROLLBACK_COMPLETE".to_owned();
    let found = findings(&fake, &store).await;
    assert_eq!(
        found,
        [
            "the stack: its status is UPDATE_ROLLBACK_COMPLETE",
            "queue the-failures (failures): it contains 3 messages",
            "queue the-intake (intake): VisibilityTimeout is \"700\", and 720 in the template",
            "queue the-intake (intake): VisibilityTimeout is 700 s, less than 6 times the 120 s of its function",
            "subscription the-subscription (subscription): it does not exist",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn doctor_reports_pause_open_breaker_and_expired_lease() {
    let store = Arc::<MemoryStore>::default();
    let earlier = Millis(NOW.0 - 600_000);
    let claim = Claim {
        owner: Uuid::from_u128(7),
        message_id: "m1".to_owned(),
        until: earlier,
        rate_full_at: None,
    };
    store
        .acquire(&claim, Millis(earlier.0 - 20_000))
        .await
        .unwrap();
    let pause = lifo_queue::control::Pause {
        until: NOW.plus(Duration::from_secs(7_200)),
        reason: "maintenance".to_owned(),
        by: None,
    };
    store.pause(&pause).await.unwrap();
    let hold = lifo_queue::control::BreakerHold {
        until: NOW.plus(Duration::from_secs(60)),
        reason: "release".to_owned(),
    };
    store.hold_breaker(&hold).await.unwrap();
    let record = Record::pending(NOW, Ttl::Seconds(EpochSeconds(1_900_000_000)));
    store.put(TaskId::from_stored("a"), record);
    assert_eq!(
        findings(&Fake::healthy(), &store).await,
        [
            "the queue: it is paused until 2027-01-15T10:00:00.000Z, 2h left: maintenance",
            "the circuit breaker: an operator holds it open until 2027-01-15T08:01:00.000Z: release",
            "the processor: the processor lease of 00000000-0000-0000-0000-000000000007 expired 10m ago",
        ]
    );
}

/// Runs a turn that ends with an open circuit breaker after this response.
pub(crate) async fn open_breaker(store: &MemoryStore, response: &str) {
    let owner = Uuid::from_u128(7);
    let claim = Claim {
        owner,
        message_id: "m1".to_owned(),
        until: NOW,
        rate_full_at: None,
    };
    store.acquire(&claim, Millis(NOW.0 - 20_000)).await.unwrap();
    let last = LastResponse::new(NOW, &TaskId::from_stored("a"), response);
    let release = Release {
        owner,
        if_requested_is: None,
        idle_turns: IdleTurns::Reset,
        carried: Carried {
            breaker: Some(OpenBreaker {
                since: NOW,
                probes: 1,
            }),
            observed: Observed {
                last_response: Some(last),
                ..Observed::default()
            },
            ..Carried::default()
        },
    };
    store.release(&release).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn remedy_names_the_downstream_and_the_concurrency() {
    let store = Arc::<MemoryStore>::default();
    let throttled = "TooManyRequestsException (ReservedFunctionConcurrentInvocationLimitExceeded)";
    open_breaker(&store, throttled).await;
    let report = report_of(Fake::healthy(), store).await;
    let command =
        "--function-name https://orders.example/run --reserved-concurrent-executions 10 raises";
    has(&report.text, command);
}

#[tokio::test(start_paused = true)]
async fn tasks_created_in_seconds_do_not_hide_the_other_findings() {
    let store = Arc::<MemoryStore>::default();
    let put = |id: &str, created: i64| {
        let record = Record::pending(Millis(created), Ttl::Seconds(EpochSeconds(1_900_000_000)));
        store.put(TaskId::from_stored(id), record);
    };
    put("ok", NOW.0);
    put("older", NOW.0 / 1_000 - 9);
    put("newer", NOW.0 / 1_000);
    open_breaker(&store, "HTTP 503").await;
    let found = findings(&Fake::healthy(), &store).await;
    let seconds =
        "the pending tasks: taskCreated of task newer is in seconds: 1800000000".to_owned();
    assert!(found.contains(&seconds), "{found:?}");
    assert!(found[0].starts_with("the circuit breaker: "), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn failed_read_omits_only_the_checks_that_need_it() {
    let failing = |read: &'static str| {
        let store = Arc::<MemoryStore>::default();
        let script = move |step| (step == read).then_some(Fault::Denied);
        Queue {
            deployed: Some(Arc::new(Fake::healthy())),
            ..Queue::on(Arc::new(FaultyStore::new(store, script)), NOW)
        }
    };
    // A healthy queue has 64 checks. 13 of them are of its state.
    for (read, checked, omitted) in [
        ("control", 54, &["the control item"][..]),
        ("groups", 62, &["the groups"]),
        (
            "pending_page",
            58,
            &[
                "the numbers of tasks",
                "the tasks of crashed processes",
                "the keys",
            ],
        ),
        ("taken_page", 63, &["the tasks of crashed processes"]),
    ] {
        let checkup = Checkup::of(&failing(read)).await;
        let places = checkup.unchecked.iter().map(|(place, _)| place.as_str());
        assert_eq!(places.collect::<Vec<_>>(), omitted, "{read}");
        assert_eq!(checkup.checked, checked, "{read}");
        assert_eq!(checkup.exit(), Exit::Failed, "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn state_of_a_queue_without_a_stack_is_checked() {
    let store = Arc::<MemoryStore>::default();
    open_breaker(&store, "HTTP 503").await;
    let doctor = Doctor { agents: false };
    let mut queue = Queue::on(store, NOW);
    let report = doctor.run(&queue, &mut NoTerminal).await.unwrap();
    has(&report.text, "the circuit breaker: ");
    has(
        &report.text,
        "not checked: the settings of the stack: the queue's stack is unknown: use --env or --stack",
    );
    has(
        &report.text,
        "checks of the state: 12, findings: 1, not checked: 1",
    );
    queue.is_dev = true;
    let report = doctor.run(&queue, &mut NoTerminal).await.unwrap();
    has(
        &report.text,
        "checks of the state: 12, findings: 1, not checked: 0",
    );
    assert_eq!(report.exit, Exit::NotAll);
}

#[test]
fn resources_unsupported_by_local_aws_are_reported_in_one_line() {
    let local = ["alarm a", "alarm b"].map(|place| (place.to_owned(), Failure::NotLocal));
    let mut checkup = Checkup {
        queue: "LifoQueue-dev".to_owned(),
        has_stack: true,
        checked: 3,
        unchecked: local.into(),
        ..Checkup::default()
    };
    let expected = "not checked: 2 resources that a local AWS does not support; --output json names them\n\
                    LifoQueue-dev: settings checked: 3, findings: 0, not checked: 2";
    assert_eq!(checkup.text(), expected);
    assert_eq!(checkup.exit(), Exit::Done);
    checkup.late = Some("5 of 8 tasks are late".to_owned());
    let late = "notice: 5 of 8 tasks are late";
    assert!(checkup.text().starts_with(late), "{}", checkup.text());
    has(&checkup.text(), "findings: 0, notices: 1, not checked: 2");
    assert_eq!(checkup.exit(), Exit::Done, "a producer may intend it");
    checkup.late = None;
    checkup
        .unchecked
        .push(("table t".to_owned(), Failure::NoRegion));
    let first = "not checked: table t: no AWS region";
    assert!(checkup.text().starts_with(first), "{}", checkup.text());
    assert_eq!(checkup.exit(), Exit::Failed);
}

#[tokio::test]
async fn pending_calls_without_a_queued_agent_are_a_finding() {
    struct Desk;
    #[async_trait]
    impl Function for Desk {
        async fn send(&self, _: &str) -> Result<Value> {
            Ok(json!({
                "queues": [{ "queue": "Q#Spanish#M", "depth": 2 }, { "queue": "Q#Basque#F", "depth": 0 }],
                "pending": [
                    { "criteria": "Spanish#*", "depth": 4 },
                    { "criteria": "Basque#F", "depth": 3, "oldest": { "callId": "c1", "criteria": "Basque#F", "pendingMs": 61_000 } },
                    { "criteria": "Latin#F", "depth": 1 },
                    { "criteria": "Greek#F", "depth": 0 },
                ],
            }))
        }
    }
    let (_, findings) = calls(&Desk).await.unwrap();
    let whats = findings
        .iter()
        .map(|found| format!("{}: {}", found.place, found.what));
    assert_eq!(
        whats.collect::<Vec<_>>(),
        [
            "the calls for Basque, F: 3 pending calls, the oldest c1 for 1m 1s; matching queued agents: 0",
            "the calls for Latin, F: 1 pending calls; matching queued agents: no agent with these attributes was ever queued",
        ]
    );
}
