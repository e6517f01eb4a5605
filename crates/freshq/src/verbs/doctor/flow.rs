//! Checks of the flow of tasks: failed runs, crashed processes, keys that replace other tasks, and
//! more new tasks than ended ones.

use lifo_queue::operate::{FoundTask, Keys, Status};
use lifo_queue::schema;
use lifo_queue::time::Millis;

use super::Finding;
use crate::sample::{Created, WINDOW};
use crate::time_format::tenths;
use crate::verbs::pause;

/// Minimum number of failed tasks in the last minute that is a finding.
const FAILED: u32 = 5;

/// Maximum number of tasks that a finding names.
const NAMED: usize = 5;

/// Maximum number of pending keys, and minimum number of states that newer ones replaced, that are a
/// finding. A device that reports often has many states too, so more keys are none.
const FEW_KEYS: (u32, u64) = (2, 50);

/// Checks the tasks of the last minute, and the pending keys. Beside limited groups, a growing backlog
/// is no finding.
pub(super) fn flow(status: &Status, created: Created, limited: bool) -> (usize, Vec<Finding>) {
    let findings = [
        failing(status),
        crashed(status),
        keys(status),
        surplus(status, created).filter(|_| !limited),
    ];
    (findings.len(), findings.into_iter().flatten().collect())
}

fn failing(status: &Status) -> Option<Finding> {
    let observed = &status.control.observed;
    let (succeeded, failed) = observed.ended.within(status.now);
    let last = observed.last_response.as_ref().map(pause::response);
    (failed >= FAILED && failed > succeeded).then(|| Finding {
        place: "the tasks".to_owned(),
        what: format!(
            "{failed} of {} that ended in the last minute failed; {}",
            succeeded + failed,
            last.unwrap_or_default()
        ),
        why: "a failed task does not run again unless an operator redrives it".to_owned(),
        remedy: "freshq errors groups the failures; pause the queue while you fix the cause, then freshq redrive --error".to_owned(),
    })
}

fn crashed(status: &Status) -> Option<Finding> {
    let suspects = &status.suspects;
    let named = suspects.iter().take(NAMED);
    let named = named.map(|there| format!("{} ({})", there.task, there.status));
    let named = named.collect::<Vec<_>>().join(", ");
    (!suspects.is_empty()).then(|| Finding {
        place: "the processor".to_owned(),
        what: format!(
            "it probably crashed while it ran {} tasks, the newest: {named}",
            suspects.len()
        ),
        why: "one of these tasks may crash the process again; after two crashes each runs alone"
            .to_owned(),
        remedy:
            "freshq show <id> names the attempts of a task; freshq cancel <id> --wait 3m deletes it"
                .to_owned(),
    })
}

fn keys(status: &Status) -> Option<Finding> {
    let Keys {
        tasks,
        superseded,
        exact,
    } = status.keys;
    let few = exact && (1..=FEW_KEYS.0).contains(&tasks) && superseded >= FEW_KEYS.1;
    few.then(|| Finding {
        place: "the keys".to_owned(),
        what: format!("{superseded} tasks were replaced by newer ones before they ran; pending keys: {tasks}"),
        why: "of the tasks with one key only the newest runs; if different things share a key, the others are lost".to_owned(),
        remedy: "freshq list names the key, and freshq show <key> its newest payload; each key must be of one thing, for example of one device: otherwise fix the producer".to_owned(),
    })
}

/// Checks the number of running tasks, and whether the sweep returned those of a crashed process.
pub(super) fn taken(taken: &[FoundTask], concurrency: usize, now: Millis) -> Option<Finding> {
    let expired = taken.iter().filter(|task| {
        let until = task.number(schema::LEASE_UNTIL);
        until.is_some_and(|until| Millis(until) <= now)
    });
    (taken.len() > concurrency).then(|| Finding {
        place: "the tasks".to_owned(),
        what: format!(
            "{} tasks are TAKEN, and the concurrency is {concurrency}; the leases of {} of them expired",
            taken.len(),
            expired.count()
        ),
        why: "a crashed process leaves its tasks TAKEN until the sweep returns them; tasks with a live lease beyond the concurrency are of another process".to_owned(),
        remedy: "freshq status names the suspects of a crash; if the number does not fall within two minutes, freshq logs sweep-tasks says why no sweep returns them".to_owned(),
    })
}

fn surplus(status: &Status, created: Created) -> Option<Finding> {
    let (control, now) = (&status.control, status.now);
    let (succeeded, failed) = control.observed.ended.within(now);
    let ended = succeeded + failed;
    let run_time = control.observed.median_run_ms;
    let run_time = run_time.map(|ms| {
        let median = tenths(std::time::Duration::from_millis(ms));
        format!(
            "; the median run takes {median}, with {} tasks running",
            status.taken
        )
    });
    created.exceeds_ended(status).then(|| Finding {
        place: "the tasks".to_owned(),
        what: format!(
            "{} were created and {ended} ended in the last {} s{}",
            created.count,
            WINDOW.as_secs(),
            run_time.unwrap_or_default()
        ),
        why: "the backlog grows: new tasks start first, and the oldest expire".to_owned(),
        remedy: "if runs take longer than usual, the downstream is slow: contact its owner; otherwise raise processing.concurrency, or let the producers create fewer tasks; the dashboard shows whether DynamoDB throttles, and by which limit".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use lifo_queue::control::Control;
    use lifo_queue::depth::Depth;
    use lifo_queue::observed::LastResponse;
    use lifo_queue::operate::Suspect;
    use lifo_queue::task::{TaskId, TaskStatus};
    use lifo_queue::time::Millis;

    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);

    /// A queue without tasks, processor or pause.
    fn idle() -> Status {
        let none = Depth {
            count: 0,
            exact: true,
        };
        Status {
            now: NOW,
            control: Control::default(),
            pending: none,
            oldest_pending: None,
            taken: none,
            failed: none,
            keys: Keys::default(),
            suspects: Vec::new(),
        }
    }

    fn whats(status: &Status, created: u32) -> Vec<String> {
        let created = Created {
            count: created,
            more: false,
        };
        let (_, findings) = super::flow(status, created, false);
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
    fn more_created_than_ended_tasks_are_a_finding_unless_the_queue_is_stopped() {
        let mut status = idle();
        status.pending.count = 400;
        status.control.observed.median_run_ms = Some(2_500);
        for _ in 0..60 {
            status.control.observed.ended.count(NOW, false);
        }
        let what = "300 were created and 60 ended in the last 60 s; the median run takes 2.5s, with 0 tasks running";
        assert_eq!(whats(&status, 300), [what]);
        assert!(whats(&status, 79).is_empty());
        let many = Created {
            count: 300,
            more: false,
        };
        let (_, found) = super::flow(&status, many, true);
        assert!(found.is_empty(), "the limit of a group is the finding");
        status.control.paused_until = Some(NOW.plus(std::time::Duration::from_secs(1)));
        assert!(whats(&status, 300).is_empty(), "the pause is the finding");
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
    }

    #[test]
    fn one_key_that_replaces_many_tasks_is_a_finding() {
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
    fn tasks_of_a_crashed_process_are_a_finding() {
        let mut status = idle();
        status.suspects = vec![Suspect {
            task: TaskId::from_stored("order-1"),
            status: TaskStatus::Taken,
            attempts: 1,
        }];
        let what = "it probably crashed while it ran 1 tasks, the newest: order-1 (TAKEN)";
        assert_eq!(whats(&status, 0), [what]);
    }
}
