use std::collections::BTreeSet;

use super::*;
use crate::control::Control;
use crate::observed::Capacity;
use crate::task::TaskId;

const NOW: Millis = Millis(1_800_000_000_000);
const SETTINGS: AdmissionSettings = AdmissionSettings {
    factor: 3,
    most_held: 120_000,
};

fn before(seconds: u64) -> Millis {
    NOW.minus(Duration::from_secs(seconds))
}

/// A control item with a capacity of 100 runs per second, measured at this time.
fn full(at: Millis) -> Control {
    let mut control = Control::default();
    control.observed.capacity = Some(Capacity::new(100.0, at));
    control
}

/// The meter one second after a mark with `held` held tasks. 10,000 tasks arrived in that second.
fn meter(held: u64, admitted: u64) -> Meter {
    Meter {
        received: 510_000,
        admitted: 40_000 + admitted,
        mark: Some(Mark {
            at: before(1),
            held,
            received: 500_000,
            admitted: 40_000,
        }),
    }
}

fn share(held: u64, left: Duration) -> f64 {
    let (_, quota) = of(&meter(held, 300), &full(NOW), &SETTINGS, NOW);
    quota.unwrap().share(left)
}

#[test]
fn every_task_is_admitted_without_a_recent_capacity() {
    let quota = |control: &Control| of(&meter(500_000, 0), control, &SETTINGS, NOW).1;
    assert_eq!(quota(&Control::default()), None);
    assert_eq!(quota(&full(before(30))), None);
    assert!(quota(&full(before(29))).is_some());
    // During a pause, the last capacity stays valid.
    let mut paused = full(before(600));
    paused.paused_until = Some(NOW.plus(Duration::from_secs(1)));
    assert!(quota(&paused).is_some());
    let (mark, _) = of(&meter(500_000, 0), &Control::default(), &SETTINGS, NOW);
    assert_eq!(mark.held, 0);
}

#[test]
fn held_tasks_increase_by_admitted_tasks_and_drain_at_factor_times_capacity() {
    let held = |meter: Meter| of(&meter, &full(NOW), &SETTINGS, NOW).0.held;
    assert_eq!(held(meter(1_000, 0)), 700);
    assert_eq!(held(meter(1_000, 10_000)), 10_700);
    assert_eq!(held(meter(100, 0)), 0);
}

#[test]
fn share_limits_held_tasks_to_the_number_that_can_run_before_expiry() {
    let hour = Duration::from_secs(3_600);
    assert!(share(0, hour) > 1.0);
    assert!(share(90_000, hour) > 1.0);
    // At the limit, three tasks are admitted per run: 300 of 10,000 arrivals.
    assert!((share(120_000, hour) - 0.03).abs() < 1e-9);
    // If a task expires in a minute, 6,000 tasks can run before its expiry.
    assert!((share(6_000, Duration::from_secs(60)) - 0.03).abs() < 1e-9);
    assert!(share(5_000, Duration::from_secs(60)) > 0.05);
    // Above the limit, for example after the capacity fell, new tasks still start.
    assert!((share(500_000, hour) - 0.015).abs() < 1e-9);
    assert!((share(1_000, Duration::ZERO) - 0.015).abs() < 1e-9);
}

#[test]
fn admission_follows_the_share_and_changes_every_minute() {
    let (_, quota) = of(&meter(120_000, 300), &full(NOW), &SETTINGS, NOW);
    let quota = quota.unwrap();
    let admitted = |sent: Millis| -> BTreeSet<usize> {
        let task = |n: usize| NewTask {
            id: TaskId::from_stored(format!("device-{n}")),
            created: NOW,
            expires_at: NOW.ceil_seconds().plus(Duration::from_secs(3_600)),
            not_before: None,
            payload: None,
            create_token: uuid::Uuid::nil(),
            keyed: None,
            trace: None,
        };
        (0..20_000)
            .filter(|n| quota.admits(&task(*n), sent, NOW))
            .collect()
    };
    let (first, same) = (admitted(NOW), admitted(NOW.plus(Duration::from_secs(1))));
    assert!((500..700).contains(&first.len()), "{}", first.len());
    assert_eq!(first, same);
    let next = admitted(NOW.plus(Duration::from_secs(60)));
    assert!(first.intersection(&next).count() < 60);
}
