use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::runner::samples::task;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn simulated_runner_is_busy_above_its_capacity() {
    let runner = Simulated::new(2, 15 * SECOND);
    let tasks = [task("a"), task("b"), task("c")];
    let started = Instant::now();

    let outcomes = join_all(tasks.iter().map(|task| runner.run(task))).await;

    assert_eq!(outcomes, [Outcome::Success, Outcome::Success, busy()]);
    assert_eq!(started.elapsed(), 15 * SECOND);
    assert_eq!(
        runner.run(&tasks[2]).await,
        Outcome::Success,
        "its slots are free again"
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_run_releases_its_slot() {
    let runner = Simulated::new(1, 15 * SECOND);
    let dropped = tokio::time::timeout(SECOND, runner.run(&task("a"))).await;
    assert!(dropped.is_err());
    assert_eq!(runner.run(&task("b")).await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn simulated_runner_without_capacity_is_always_busy() {
    let runner = Simulated::new(0, SECOND);
    assert_eq!(runner.run(&task("a")).await, busy());
}

#[tokio::test(start_paused = true)]
async fn rates_determine_the_outcome_and_busy_runs_end_immediately() {
    let always = |failure: f64, retry: f64, busy: f64| {
        let rates = Rates {
            failure,
            retry,
            busy,
        };
        Simulated::new(1, SECOND).with_rates(rates)
    };
    let started = Instant::now();
    let run = always(0.0, 0.0, 1.0).run(&task("a")).await;
    assert_eq!(run, busy());
    assert_eq!(started.elapsed(), Duration::ZERO);
    let failed = always(1.0, 0.0, 0.0).run(&task("a")).await;
    assert!(matches!(failed, Outcome::Failure { .. }), "{failed:?}");
    assert_eq!(started.elapsed(), SECOND);
    let retried = always(0.0, 1.0, 0.0).run(&task("a")).await;
    assert!(matches!(retried, Outcome::Retry { .. }), "{retried:?}");

    let told_to_retry = told(json!({"outcome": "retry", "attempts": 1}), 1);
    let obeyed = always(1.0, 0.0, 0.0).run(&told_to_retry).await;
    assert!(matches!(obeyed, Outcome::Retry { .. }), "{obeyed:?}");
    let later = told(json!({"outcome": "retry", "attempts": 1}), 2);
    assert_eq!(always(1.0, 0.0, 0.0).run(&later).await, Outcome::Success);
}

#[test]
fn outcomes_are_distributed_by_their_rates() {
    let rates = Rates {
        failure: 0.1,
        retry: 0.2,
        busy: 0.3,
    };
    let mut ends = [0; 4];
    for drawn in 0..1000 {
        let end = match rates.at(f64::from(drawn) / 1000.0) {
            Some(Outcome::Failure { .. }) => 0,
            Some(Outcome::Retry { .. }) => 1,
            Some(Outcome::Busy { .. }) => 2,
            other => {
                assert_eq!(other, None);
                3
            }
        };
        ends[end] += 1;
    }
    // A share that has no exact binary representation may gain or lose one draw by rounding.
    for (counted, wanted) in ends.into_iter().zip([100, 200, 300, 400_i32]) {
        assert!((wanted - 1..=wanted + 1).contains(&counted), "{ends:?}");
    }
    assert_eq!(Rates::default().at(0.0), None);
}

fn told(simulate: serde_json::Value, attempt: u32) -> Task {
    Task {
        attempt,
        payload: json!({"order": 7, "simulate": simulate}),
        ..task("told")
    }
}

#[tokio::test(start_paused = true)]
async fn payload_can_request_a_failure() {
    let runner = Simulated::new(1, SECOND);
    let failed = runner.run(&told(json!({"outcome": "fail"}), 1)).await;
    let Outcome::Failure { reason } = failed else {
        panic!("{failed:?}")
    };
    assert!(reason.contains("attempt 1"), "{reason}");
    let retried = runner.run(&told(json!({"outcome": "retry"}), 9)).await;
    assert!(matches!(retried, Outcome::Retry { .. }), "{retried:?}");
}

#[tokio::test(start_paused = true)]
async fn simulated_failure_stops_after_the_requested_attempts() {
    let runner = Simulated::new(1, SECOND);
    let simulate = json!({"outcome": "retry", "attempts": 2});
    for attempt in 1..=2 {
        let outcome = runner.run(&told(simulate.clone(), attempt)).await;
        assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
    }
    assert_eq!(runner.run(&told(simulate, 3)).await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn payload_can_request_a_run_that_does_not_end() {
    let runner = Simulated::new(1, SECOND);
    let hanging = told(json!({"outcome": "hang"}), 1);
    let run = runner.run(&hanging);
    assert!(
        tokio::time::timeout(100 * SECOND, run).await.is_err(),
        "it ended"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_instruction_fails_the_task_and_names_the_remedy() {
    let runner = Simulated::new(1, SECOND);
    for simulate in [
        json!("exit"),
        json!({}),
        json!({"outcome": "explode"}),
        json!({"outcome": "fail", "attempt": 1}),
        json!({"outcome": "fail", "attempts": -1}),
    ] {
        let outcome = runner.run(&told(simulate.clone(), 1)).await;
        let Outcome::Failure { reason } = outcome else {
            panic!("{simulate}: {outcome:?}")
        };
        assert!(
            reason.contains("simulate is invalid") && reason.contains("give an outcome"),
            "{simulate}: {reason}"
        );
    }
}

/// Environment variable of the child process, which runs this test again and exits.
const EXITING: &str = "FRESHQ_TEST_EXITING";

#[test]
fn payload_can_request_a_process_exit() {
    if std::env::var_os(EXITING).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let runner = Simulated::new(1, Duration::ZERO);
        let outcome = runtime.block_on(runner.run(&told(json!({"outcome": "exit"}), 1)));
        panic!("the process continues: {outcome:?}");
    }
    let this_test = "runner::simulated::tests::payload_can_request_a_process_exit";
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this_test])
        .env(EXITING, "1")
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(EXIT_CODE));
}
