//! Limits, pauses and closures of individual groups.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use conformance::new_task;
use lifo_queue::control::{
    Author, GroupChange, GroupChanged, GroupPause, LearnedGroups, OperatorLimit, OperatorRate,
};
use lifo_queue::process::{Exit, GroupSettings, RateLimit};
use lifo_queue::runner::Outcome;
use lifo_queue::store::Written;
use lifo_queue::store::memory::Record;
use lifo_queue::task::{GroupName, Task, TaskId, TaskStatus, Ttl};
use lifo_queue::time::Clock;
use simulator::fault::Fault;
use uuid::Uuid;

use super::world::*;

/// A queue with groups and with tasks of these groups.
pub(super) async fn world(
    script: impl Fn(&Task) -> (Duration, Outcome) + Send + Sync + 'static,
    groups: GroupSettings,
    tasks: &[(&str, i64)],
) -> World {
    let mut world = World::with_breaker(script);
    world.settings.groups = Some(groups);
    for (group, count) in tasks {
        for n in 0..*count {
            let task = new_task(&format!("{group}/{n}"), n - count);
            world.store.insert(&task).await.unwrap();
        }
    }
    world
}

fn concurrency(most: u16) -> GroupSettings {
    GroupSettings {
        max_concurrency: NonZeroU16::new(most),
        ..GroupSettings::default()
    }
}

fn every(interval: Duration) -> GroupSettings {
    let burst = NonZeroU32::MIN;
    GroupSettings {
        rate: Some(RateLimit { interval, burst }),
        ..GroupSettings::default()
    }
}

async fn change(world: &World, group: &str, change: GroupChange) {
    let group = GroupName::new(group).unwrap();
    let changed = world.operator().change_group(&group, &change).await;
    assert_eq!(changed.unwrap(), GroupChanged::Done);
}

async fn pause(world: &World, group: &str, time: Duration) {
    let now = world.clock.now();
    let pause = GroupPause {
        until: now.plus(time),
        reason: "their host is down".to_owned(),
        by: Author {
            name: "ana".to_owned(),
            at: now,
        },
    };
    change(world, group, GroupChange::Pause(Some(pause))).await;
}

/// The number of starts per group.
pub(super) fn starts(world: &World) -> BTreeMap<String, usize> {
    let mut starts = BTreeMap::new();
    for id in world.started() {
        let group = TaskId::from_stored(id).group().to_owned();
        *starts.entry(group).or_default() += 1;
    }
    starts
}

/// The number of starts per group during the next `time`.
pub(super) async fn starts_in(world: &World, time: Duration) -> BTreeMap<String, usize> {
    let before = starts(world);
    tokio::time::sleep(time).await;
    let mut after = starts(world);
    for (group, count) in &mut after {
        *count -= before.get(group).copied().unwrap_or_default();
    }
    after
}

#[tokio::test(start_paused = true)]
async fn limited_groups_leave_the_remaining_slots_to_other_groups() {
    for (settings, limited) in [(concurrency(1), 18..=22), (every(SECOND / 2), 38..=42)] {
        let world = world(a_second, settings, &[("a", 500), ("b", 500), ("c", 500)]).await;
        let (_, started) = tokio::join!(world.turn(), starts_in(&world, 20 * SECOND));
        assert!(
            started.values().all(|count| limited.contains(count)),
            "{started:?}"
        );
        assert_eq!(started.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn operators_limit_replaces_the_configured_limit_within_a_heartbeat() {
    let world = world(a_second, concurrency(1), &[("a", 500), ("b", 500)]).await;
    let operate = async {
        tokio::time::sleep(7 * SECOND).await;
        let now = world.clock.now();
        let limit = OperatorLimit {
            concurrency: NonZeroU16::new(4),
            rate: Some(OperatorRate {
                interval: SECOND / 3,
            }),
            until: now.plus(20 * SECOND),
            reason: "migration".to_owned(),
            by: Author {
                name: "ana".to_owned(),
                at: now,
            },
        };
        change(&world, "a", GroupChange::Limit(Some(limit))).await;
        tokio::time::sleep(world.settings.heartbeat).await;
        let limited = starts_in(&world, 10 * SECOND).await;
        tokio::time::sleep(10 * SECOND).await;
        (limited, starts_in(&world, 10 * SECOND).await)
    };
    let (_, (limited, after)) = tokio::join!(world.turn(), operate);
    assert!((29..=31).contains(&limited["a"]), "{limited:?}");
    assert!((9..=11).contains(&limited["b"]), "{limited:?}");
    assert!((9..=11).contains(&after["a"]), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn paused_group_does_not_start_and_does_not_keep_the_processor_awake() {
    let world = world(
        |_| at_once(),
        GroupSettings::default(),
        &[("a", 3_000), ("b", 20)],
    )
    .await;
    pause(&world, "a", 8 * HOUR).await;
    let began = world.clock.now();
    let summary = world.turn().await;
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 20));
    assert!(world.clock.now().since(began) < 10 * SECOND, "{summary:?}");
    // An operator resumes the group during a turn.
    let resume = async {
        tokio::time::sleep(SECOND).await;
        change(&world, "a", GroupChange::Pause(None)).await;
    };
    let (summary, ()) = tokio::join!(world.turn(), resume);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 3_000));
}

#[tokio::test(start_paused = true)]
async fn group_opens_automatically_at_the_end_of_its_pause() {
    let world = world(|_| at_once(), GroupSettings::default(), &[("a", 20)]).await;
    pause(&world, "a", 17 * SECOND).await;
    let starts = async {
        let paused = starts_in(&world, Duration::from_millis(16_999)).await;
        (paused.len(), starts_in(&world, SECOND).await["a"])
    };
    let (summary, started) = tokio::join!(world.turn(), starts);
    assert_eq!((summary.exit, started), (Exit::Empty, (0, 20)));
}

#[tokio::test(start_paused = true)]
async fn busy_response_with_retry_after_closes_only_its_group() {
    let script = |task: &Task| match task.task_id.group() {
        "a" if task.total_attempts == 1 => (Duration::ZERO, busy_for(20 * SECOND)),
        _ => (SECOND, Outcome::Success),
    };
    let world = world(script, concurrency(1), &[("a", 30), ("b", 30)]).await;
    let (_, started) = tokio::join!(world.turn(), starts_in(&world, 19 * SECOND));
    assert_eq!(
        started["a"], 2,
        "the second response closed the group: {started:?}"
    );
    assert!((18..=20).contains(&started["b"]), "{started:?}");
    let control = world.record("a/0");
    let succeeded = control.status == TaskStatus::Success;
    assert_eq!(control.attempts, u32::from(succeeded));
    assert!(starts(&world)["a"] > 1, "the group opened again");
}

#[tokio::test(start_paused = true)]
async fn rate_of_a_group_holds_across_turns_and_crashes() {
    for seed in simulator::seeds::Seeds::of(0..40).range {
        let mut rng = fastrand::Rng::with_seed(seed);
        let interval = SECOND * rng.u32(5..30);
        let world = world(|_| at_once(), every(interval), &[("a", 100), ("b", 100)]).await;
        let began = world.clock.now();
        for _ in 0..6 {
            let crash = Duration::from_millis(rng.u64(0..90_000));
            if tokio::time::timeout(crash, world.turn()).await.is_err() {
                tokio::time::sleep(world.settings.processor_lease).await;
            }
        }
        let passed = world.clock.now().since(began).as_secs_f64();
        let allowed = 1.0 + passed / interval.as_secs_f64();
        let started = starts(&world);
        assert!(
            started.values().all(|count| *count as f64 <= allowed),
            "seed {seed}: {started:?} in {passed} s, one in {interval:?}"
        );
    }
}

/// The number of the group's tasks with a live lease.
fn live(world: &World, group: &str) -> usize {
    let now = world.clock.now();
    let records = world.store.records();
    let live = records.iter().filter(|(id, record)| {
        id.group() == group
            && record.status == TaskStatus::Taken
            && record.lease_until.is_some_and(|until| until > now)
    });
    live.count()
}

#[tokio::test(start_paused = true)]
async fn tasks_of_a_crashed_processor_count_as_running() {
    let script = |_: &Task| (10 * SECOND, Outcome::Success);
    let world = world(script, concurrency(2), &[("a", 30), ("b", 30)]).await;
    let crashed = tokio::time::timeout(15 * SECOND, world.turn()).await;
    assert!(crashed.is_err());
    assert_eq!((live(&world, "a"), starts(&world)["a"]), (2, 4));
    tokio::time::sleep(world.settings.processor_lease).await;
    let watch = async {
        for _ in 0..300 {
            tokio::time::sleep(SECOND / 10).await;
            assert!(live(&world, "a") <= 2 && live(&world, "b") <= 2);
        }
        starts(&world)["a"]
    };
    let (_, started) = tokio::join!(world.turn(), watch);
    // The crashed processor's 42-second leases expire halfway through the observed period.
    assert!((6..=8).contains(&started), "{started}");
}

#[tokio::test(start_paused = true)]
async fn task_whose_settlement_failed_counts_as_running_even_in_the_next_turn() {
    let world = world(|_| at_once(), concurrency(1), &[("a", 5)]).await;
    let store = world.failing("settle", Fault::Invalid);
    let summary = world.turn_on(store).await.unwrap();
    // The second task started when the first task's lease had expired.
    assert_eq!((live(&world, "a"), summary.taken), (1, 2), "{summary:?}");
    let left = world.store.groups().await.unwrap().learned;
    assert_eq!(left.groups[0].leases.len(), 1);
    let (_, started) = tokio::join!(world.turn(), starts_in(&world, SECOND));
    assert_eq!(started["a"], 0, "{started:?}");
}

#[tokio::test(start_paused = true)]
async fn lease_is_not_released_if_the_group_state_cannot_be_written() {
    let world = world(|_| at_once(), every(100 * SECOND), &[("a", 5)]).await;
    let store = world.failing("save_groups", Fault::LostRequest);
    let failed = world.turn_on(store).await;
    assert!(failed.is_err());
    assert!(world.control().await.lease.is_some());
    tokio::time::sleep(world.settings.processor_lease).await;
    // The next turn starts with an empty bucket, so it takes no task.
    assert_eq!(world.turn().await.taken, 0);
}

#[tokio::test(start_paused = true)]
async fn late_group_state_of_a_displaced_processor_does_not_fail_the_turn() {
    let world = world(a_second, every(100 * SECOND), &[("a", 1)]).await;
    let displaced = Uuid::from_u128(1);
    let late = async {
        tokio::time::sleep(SECOND / 2).await;
        let learned = LearnedGroups::default();
        let written = world.store.save_groups(&learned, displaced, None).await;
        assert_eq!(written.unwrap(), Written::Done);
    };
    let (summary, ()) = tokio::join!(world.turn(), late);
    assert_eq!((summary.exit, summary.succeeded), (Exit::Empty, 1));
    assert!(world.control().await.lease.is_none());
    let left = world.store.groups().await.unwrap();
    assert_ne!(left.learned_by, Some(displaced));
    assert_eq!(left.learned.groups.len(), 1, "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn task_that_must_run_alone_in_a_closed_group_reserves_no_gap() {
    let world = world(a_second, GroupSettings::default(), &[("b", 900)]).await;
    let now = world.clock.now();
    let mut suspect = Record::pending(now, Ttl::Missing);
    suspect.attempts = 2;
    suspect.lease_expired = true;
    world.store.put(TaskId::from_stored("a/suspect"), suspect);
    pause(&world, "a", HOUR).await;
    let summary = world.turn().await;
    assert_eq!(
        (summary.exit, starts(&world).get("a")),
        (Exit::TimeUp, None)
    );
    // All ten slots are always in use.
    assert!((590..=610).contains(&summary.taken), "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn queue_without_groups_does_not_read_the_groups_item() {
    let world = World::of(20, |_| at_once()).await;
    let store = world.faulty(|step, _| match step {
        "groups" | "save_groups" => Some(Fault::Denied),
        _ => None,
    });
    let summary = world.turn_on(store).await.unwrap();
    assert_eq!((summary.succeeded, summary.store_errors), (20, 0));
}
