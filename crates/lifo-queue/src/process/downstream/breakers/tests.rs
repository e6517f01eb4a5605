use super::*;
use crate::process::downstream::RunNumber;
use crate::process::downstream::tests::settings;

/// Groups whose runs end one after another.
struct Runs {
    breakers: GroupBreakers,
    runs: u64,
}

impl Runs {
    fn new() -> Self {
        let none_open = std::iter::empty();
        let breakers = GroupBreakers::new(&settings(), none_open, Millis(100_000_000), Millis(0));
        Self { breakers, runs: 0 }
    }

    /// Ends a run with this signal. Returns whether the run does not count as an attempt, and the
    /// resulting pause of the group.
    fn end(&mut self, task: &str, signal: Signal, now: i64) -> (bool, Option<Pause>) {
        let task = TaskId::from_stored(task);
        self.runs += 1;
        let (number, now) = (RunNumber(self.runs), Millis(now));
        self.breakers.of(&task).attempt_started(&task);
        self.breakers.of(&task).breaker.note_run(number);
        let run = Run {
            number,
            started: now,
            ended: now,
        };
        let ruling = self.breakers.run_ended(&run, &task, signal, 0.0);
        self.breakers.of(&task).returned(&ruling);
        let spared = ruling.spared.is_some();
        (spared, self.breakers.rest(task.group(), now))
    }

    /// Time until which a group without running tasks may not start any task.
    fn waits_until(&self, group: &str, now: i64) -> Option<Millis> {
        self.breakers.waits_until(group, 0, Millis(now))
    }
}

#[test]
fn only_task_of_a_group_uses_one_attempt_and_other_groups_continue() {
    let mut runs = Runs::new();
    assert_eq!(runs.end("a/1", Signal::Unavailable, 0), (false, None));
    assert_eq!(runs.waits_until("a", 10_000), None);
    assert_eq!(runs.end("a/1", Signal::Unavailable, 10_000), (true, None));
    assert_eq!(runs.waits_until("a", 10_000), Some(Millis(11_000)));
    assert_eq!(runs.waits_until("a", 11_000), None);
    assert_eq!(runs.waits_until("b", 10_000), None);
    assert_eq!(runs.end("a/1", Signal::Unavailable, 11_000), (true, None));
    assert_eq!(runs.end("a/2", Signal::Result, 13_000), (false, None));
    assert_eq!(runs.waits_until("a", 13_000), None);
}

#[test]
fn task_that_always_fails_uses_up_its_attempts_in_a_group_with_results() {
    let mut runs = Runs::new();
    let mut attempts = 0;
    for second in 0..10 {
        let (spared, _) = runs.end("a/poison", Signal::InternalError, second * 1_000);
        attempts += u32::from(!spared);
        runs.end("a/other", Signal::Result, second * 1_000 + 1);
    }
    assert_eq!(attempts, 10);
}

#[test]
fn rejections_and_a_long_outage_close_the_group_instead_of_the_queue() {
    let mut runs = Runs::new();
    assert_eq!(runs.end("a/1", Signal::Rejecting, 0).1, None);
    assert_eq!(runs.end("a/2", Signal::Rejecting, 0).1, None);
    let (_, pause) = runs.end("a/3", Signal::Rejecting, 0);
    assert_eq!(pause.unwrap().until, Millis(300_000));
    // After the pause, tasks start one at a time.
    assert_eq!(runs.waits_until("a", 300_000), None);
    let busy = runs.breakers.waits_until("a", 1, Millis(300_000));
    assert_eq!(busy, Some(Millis::MAX));

    let mut paused_at = None;
    for second in 0..600 {
        let now = second * 1_000;
        if runs.waits_until("b", now).is_none() {
            let (_, pause) = runs.end("b/1", Signal::Unavailable, now);
            paused_at = paused_at.or(pause.map(|pause| (second, pause.reason)));
        }
    }
    let (second, reason) = paused_at.unwrap();
    assert!((480..490).contains(&second), "{second} s: {reason}");
    assert!(reason.contains("unavailable"), "{reason}");
}

#[test]
fn ledger_at_rest_is_removed_and_ledger_without_a_result_is_kept() {
    let mut runs = Runs::new();
    runs.end("a/1", Signal::Result, 0);
    runs.end("b/1", Signal::Unavailable, 0);
    let busy = Signal::Busy { retry_after: None };
    runs.end("c/1", busy, 0);
    let known = |name| runs.breakers.get(name).is_some();
    assert_eq!([known("a"), known("b"), known("c")], [false, true, true]);
}
