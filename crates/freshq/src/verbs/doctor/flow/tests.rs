//! Tests the checks of the task flow with each kind of status.

use lifo_queue::observed::LastResponse;
use lifo_queue::operate::Suspect;
use lifo_queue::task::{TaskId, TaskStatus};
use simulator::texts::has;

use super::*;
use crate::verbs::cause::tests::{NOW, idle, limited};

/// Returns tasks of which `count` were created in the last minute.
fn many(count: u32) -> Tasks {
    let mut tasks = Tasks::default();
    tasks.created.count = count;
    tasks
}

/// Runs all checks of the flow.
fn flow(status: &Status, tasks: &Tasks) -> Vec<Finding> {
    let found = [
        failing(&status.control, status.now),
        crashed(&status.suspects),
        keys(status.keys),
        surplus(status, tasks),
    ];
    found.into_iter().flatten().collect()
}

fn findings(status: &Status, created: u32) -> Vec<Finding> {
    flow(status, &many(created))
}

fn whats(status: &Status, created: u32) -> Vec<String> {
    let findings = findings(status, created);
    findings.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn failing_tasks_are_a_finding_with_the_last_response() {
    let mut status = idle();
    let observed = &mut status.control.observed;
    let task = TaskId::from_stored("a");
    observed.last_response = Some(LastResponse::new(NOW, &task, "HTTP 422: no such order"));
    for _ in 0..5 {
        observed.ended.count(NOW, true);
    }
    let what = "5 of 5 that ended in the last minute failed; the last response, to task a at \
                2027-01-15T08:00:00.000Z: HTTP 422: no such order";
    assert_eq!(whats(&status, 5), [what]);
    for _ in 0..5 {
        status.control.observed.ended.count(NOW, false);
    }
    assert!(whats(&status, 5).is_empty(), "as many succeeded");
}

#[test]
fn more_tasks_created_than_ended_is_a_finding_unless_the_queue_is_stopped() {
    let mut status = idle();
    status.pending.count = 400;
    status.control.observed.median_run_ms = Some(2_500);
    for _ in 0..60 {
        status.control.observed.ended.count(NOW, false);
    }
    let what = "tasks are created faster than they finish; 300 were created and 60 ended in the \
                last 60 s; runs take 2.5s at the median; running: 0";
    assert_eq!(whats(&status, 300), [what]);
    assert!(whats(&status, 79).is_empty());
    status.control.paused_until = Some(NOW.plus(std::time::Duration::from_secs(1)));
    assert!(whats(&status, 300).is_empty(), "the pause is the finding");
}

#[test]
fn delayed_tasks_do_not_count_as_surplus() {
    let mut status = idle();
    status.pending.count = 300;
    let mut tasks = many(300);
    tasks.created.delayed = 300;
    assert_eq!(flow(&status, &tasks), []);
}

#[test]
fn surplus_remedy_depends_on_what_limits_the_starts() {
    let busy = Some("HTTP 429: at most one at once");
    let slow = "runs take 127ms at the median, longest 25s; running: 10 with concurrency 10";
    let rate = "running: 3 with concurrency 10, ratePerSecond 4";
    let cases = [
        (
            limited(10, None, [127, 25_000], None),
            slow,
            "the owner of the service that the slow tasks call",
        ),
        (
            limited(10, None, [127, 200], None),
            "running: 10 with concurrency 10",
            "raise processing.concurrency",
        ),
        (
            limited(3, Some(4_000), [127, 200], None),
            rate,
            "raise processing.ratePerSecond",
        ),
        (
            limited(3, Some(4_000), [127, 200], busy),
            "HTTP 429: at most one at once",
            "act on its last response",
        ),
    ];
    for (status, end, part) in cases {
        let [Finding { what, remedy, .. }] = &findings(&status, 300)[..] else {
            panic!("one finding")
        };
        assert!(what.ends_with(end), "{what}");
        has(remedy, part);
    }
}

#[test]
fn more_running_tasks_than_the_concurrency_are_a_finding() {
    let task = |lease_until: i64| FoundTask {
        id: TaskId::from_stored("a"),
        created: NOW,
        attributes: [(schema::LEASE_UNTIL.to_owned(), lease_until.into())]
            .into_iter()
            .collect(),
    };
    let tasks = [task(NOW.0), task(NOW.0 + 1), task(NOW.0 + 1)];
    let finding = taken(&tasks, 2, NOW).unwrap();
    let what = "3 tasks are TAKEN, and the concurrency is 2; the leases of 1 of them expired";
    assert_eq!(finding.what, what);
    assert_eq!(taken(&tasks, 3, NOW), None);
    // Without an expired lease, a processor can have taken three tasks per slot.
    let live = |count| vec![task(NOW.0 + 1); count];
    assert_eq!(taken(&live(6), 2, NOW), None);
    assert!(taken(&live(7), 2, NOW).is_some());
}

#[test]
fn one_key_that_supersedes_many_tasks_is_a_finding() {
    let mut status = idle();
    let mut found = |tasks, superseded| {
        status.keys = Keys {
            tasks,
            superseded,
            exact: true,
        };
        whats(&status, 0)
    };
    let what = "117 tasks were replaced by newer ones before they ran; pending keys: 1";
    assert_eq!(found(1, 117), [what]);
    assert!(found(1, 49).is_empty(), "a short delay");
    assert!(found(3, 117).is_empty(), "some devices that report often");
}

#[test]
fn tasks_left_by_a_crashed_process_are_a_finding() {
    let mut status = idle();
    status.suspects = vec![Suspect {
        task: TaskId::from_stored("order-1"),
        status: TaskStatus::Taken,
        attempts: 1,
    }];
    let what = "it probably crashed while it ran 1 tasks, the newest: order-1 (TAKEN)";
    assert_eq!(whats(&status, 0), [what]);
}
