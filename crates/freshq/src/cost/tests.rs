use std::fs;
use std::path::Path;
use std::time::Duration;

use simulator::units;

use super::load::TransitionUnits;
use super::*;

const MONTH: &str = "730h";

fn parsed(arguments: &[&str]) -> Result<Cost, clap::Error> {
    use clap::Parser;
    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        cost: Cost,
    }
    let line = std::iter::once("cost").chain(arguments.iter().copied());
    Ok(Line::try_parse_from(line)?.cost)
}

fn cost(arguments: &[&str]) -> Cost {
    parsed(arguments).unwrap()
}

fn dynamodb(all: &[Billed]) -> f64 {
    let of_dynamodb: Vec<_> = all
        .iter()
        .filter(|one| one.price.ends_with("eUnit") || one.price == "readUnit")
        .copied()
        .collect();
    total(&of_dynamodb)
}

#[tokio::test(start_paused = true)]
async fn transition_units_match_those_reported_by_dynamodb() {
    for payload in [100, 500, 4_000, 50_000, 300_000] {
        let measured = units::of_transitions(payload as usize).await.unwrap();
        let computed = TransitionUnits::of(payload);
        assert_eq!(computed.create, measured.create, "create, {payload} bytes");
        let changes = [measured.take, measured.return_task, measured.settle];
        assert_eq!(
            [computed.change; 3], changes,
            "take, return, settle, {payload} bytes"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn turn_consumes_at_most_the_estimated_units() {
    let turn = units::of_a_turn(10, Duration::from_millis(400))
        .await
        .unwrap();
    let ran = f64::from(turn.ran);
    let load = Load {
        tasks: turn.ran.into(),
        over: Duration::from_secs_f64(turn.seconds),
        capacity: Some(ran / turn.seconds),
        ..cost(&["--payload", "100"]).load
    };
    let count = |what: &str| {
        let billed = load.freshq();
        billed.iter().find(|one| one.what == what).unwrap().count
    };
    let writes = turn.figures.write_units() - ran * 6.0;
    assert_eq!(count("DynamoDB, take, return and settle"), ran * 6.0);
    assert!(
        (0.0..=count("DynamoDB, wake-ups and leases")).contains(&writes),
        "{turn:?}"
    );
    assert!(
        turn.figures.read_units() <= count("DynamoDB, reads of the index"),
        "{turn:?}"
    );
}

#[test]
fn shed_tasks_are_not_taken_and_with_admission_not_inserted() {
    let storm = ["--tasks", "36000000", "--over", "1h", "--capacity", "100"];
    let without = cost(&storm).load;
    assert_eq!(
        (without.ran(), without.inserted()),
        (360_000.0, 3_240_000.0),
        "the index accepts 1,000 units/s, 100 of which are takes"
    );
    assert_eq!(without.postponed(), 19_200_000.0);
    let with = cost(&[&storm[..], &["--admission"]].concat()).load;
    assert_eq!((with.ran(), with.inserted()), (360_000.0, 1_080_000.0));
    assert_eq!(with.postponed(), 0.0);
    // 900 inserts of 2 units and 100 runs of 6 units per second, and 300 inserts with admission.
    let of_dynamodb = [without, with].map(|load| dynamodb(&load.freshq()));
    assert!(of_dynamodb[0] - 5.40 < 0.03 && of_dynamodb[1] - 2.70 < 0.03);
    assert!(of_dynamodb[0] > 5.40 && of_dynamodb[1] > 2.70);
}

#[test]
fn table_accepts_no_more_at_a_higher_arrival_rate() {
    let at = |tasks| cost(&["--tasks", tasks, "--over", "1h", "--capacity", "100"]).load;
    let (storm, flood) = (at("36000000"), at("360000000"));
    assert_eq!(storm.inserted(), flood.inserted());
    assert_eq!(dynamodb(&storm.freshq()), dynamodb(&flood.freshq()));
}

#[test]
fn out_of_range_arguments_are_rejected_by_name() {
    for (arguments, name) in [
        (["--batch", "11"], "--batch"),
        (["--attempts", "0.5"], "--attempts"),
        (["--capacity", "0"], "--capacity"),
        (["--payload", "0"], "--payload"),
    ] {
        let error = parsed(&arguments).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn text_names_every_line_and_both_totals() {
    insta::assert_snapshot!(cost(&["--tasks", "100000000", "--over", MONTH]).text());
}

/// With `FRESHQ_WRITE_TABLES=1`, as set by `make docs`, writes the page first.
#[test]
fn page_has_the_current_estimates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/load-costs.md");
    let page = page();
    if std::env::var("FRESHQ_WRITE_TABLES").is_ok_and(|write| write == "1") {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        page,
        "make docs writes the page"
    );
}

fn page() -> String {
    let units = [100, 4_000, 50_000, 300_000].map(|payload| {
        let TransitionUnits { create, change } = TransitionUnits::of(payload);
        let all = create + 2.0 * change;
        let million = money(all * PRICES.of("writeUnit").price);
        format!(
            "| {} | {create} | {change} | {change} | {change} | {all} | {million} |",
            thousands(f64::from(payload))
        )
    });
    let mut loads = Vec::new();
    for (tasks, payload) in [
        ("1000000", "100"),
        ("1000000", "4000"),
        ("1000000", "50000"),
        ("1000000", "300000"),
        ("100000000", "100"),
        ("100000000", "4000"),
        ("100000000", "50000"),
        ("100000000", "300000"),
    ] {
        let estimate = cost(&["--tasks", tasks, "--over", MONTH, "--payload", payload]);
        let payload = thousands(payload.parse().unwrap());
        loads.push(row(
            &estimate,
            &[thousands(tasks.parse().unwrap()), payload],
        ));
    }
    let mut storms = Vec::new();
    for arrivals in [1_000_u64, 10_000, 100_000] {
        let tasks = (arrivals * 3_600).to_string();
        let storm = [
            "--tasks",
            &tasks,
            "--over",
            "1h",
            "--payload",
            "100",
            "--capacity",
            "100",
        ];
        for (name, admission) in [("no", &[][..]), ("yes", &["--admission"][..])] {
            let estimate = cost(&[&storm[..], admission].concat());
            storms.push(row(
                &estimate,
                &[thousands(arrivals as f64), name.to_owned()],
            ));
        }
    }
    format!(
        "# Costs of a load\n\n\
         Generated by `make docs` from the formulas of `freshq cost` and the list prices in\n\
         [prices.json](../../crates/freshq/src/cost/prices.json) ({}, {}). `freshq cost` computes the same for your load. Free tiers,\n\
         logs, metrics and alarms are excluded; [fixed costs](fixed-costs.md) lists those of an idle queue. A test compares the units with those\n\
         that an embedded DynamoDB reports.\n\n\
         ## Write units of a task\n\n\
         | payload, bytes | create | take | return | settle | create, take and settle | a million tasks |\n\
         |---|---|---|---|---|---|---|\n{}\n\n\
         The index has no payload. A state of a key and a trace add their attributes.\n\n\
         ## A month\n\n\
         Every task runs once, and comes through the ingest queue in batches of ten. For comparison: a Lambda function on an SQS queue, oldest\n\
         first, with runs of one second; it runs ten messages concurrently.\n\n\
         | tasks | payload, bytes | freshq | DynamoDB part | SQS and a function |\n|---|---|---|---|---|\n{}\n\n\
         ## An hour of a storm\n\n\
         Tasks of 100 bytes; the downstream takes 100 runs per second, and the other tasks are shed. One queue inserts at most 900 of them per\n\
         second, because its index accepts 1,000 write units per second. Without admission, SQS redelivers the others until they expire or reach\n\
         `maxReceiveCount`; at most 120,000 are in flight. With [`ingest.admission`](../explanation/scaling.md#storms), they are shed at their first\n\
         receive, and 300 are inserted per second. So admission saves about $2.70 per hour in DynamoDB, and new tasks start in time.\n\n\
         | arrivals per second | admission | freshq | DynamoDB part | SQS and a function |\n|---|---|---|---|---|\n{}\n",
        PRICES.region,
        PRICES.looked_up,
        units.join("\n"),
        loads.join("\n"),
        storms.join("\n"),
    )
}

fn row(estimate: &Cost, first: &[String]) -> String {
    let (freshq, peer) = (estimate.load.freshq(), estimate.load.sqs_and_lambda());
    let costs = [total(&freshq), dynamodb(&freshq), total(&peer)].map(money);
    format!("| {} | {} |", first.join(" | "), costs.join(" | "))
}
