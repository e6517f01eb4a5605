//! Tests of groups, and of limit, pause, resume, list and cancel with --group.

use std::num::NonZeroU16;

use lifo_queue::control::{
    BreakerHold, Cause, Health, LearnedGroup, LearnedGroups, MAX_OVERRIDES, OpenBreaker,
};
use lifo_queue::store::{ControlStore, GroupStore, OperatorStore};
use lifo_queue::task::GroupName;
use serde_json::json;
use uuid::Uuid;

use super::*;

fn of(name: &str) -> Option<GroupName> {
    Some(GroupName::new(name).unwrap())
}

fn limit(group: &str) -> Limit {
    Limit {
        concurrency: NonZeroU16::new(2),
        group: of(group),
        time: Some(HOUR),
        reason: Some("they asked".to_owned()),
        ..Limit::default()
    }
}

fn pause_of(group: &str) -> Pause {
    Pause {
        group: of(group),
        ..pause(HOUR / 2)
    }
}

const ALL: Groups = Groups {
    limit: 50,
    max_reads: 10_000,
};

/// Creates three tasks of acme (one of them running), one task of globex, and one without a group.
fn world() -> World {
    let world = World::start();
    for (id, status, age) in [
        ("acme/1", TaskStatus::Pending, 300),
        ("acme/2", TaskStatus::Pending, 60),
        ("acme/3", TaskStatus::Pending, 5),
        ("acme/4", TaskStatus::Taken, 2),
        ("globex/1", TaskStatus::Pending, 10),
        ("plain", TaskStatus::Pending, 20),
    ] {
        world.put(id, status, age);
    }
    world
}

#[tokio::test(start_paused = true)]
async fn groups_are_shown_with_their_tasks_limits_and_pauses() {
    let mut world = world();
    world.run(&pause_of("globex")).await.unwrap();
    world.run(&limit("initech")).await.unwrap();
    let learned = LearnedGroups {
        groups: vec![LearnedGroup {
            name: "umbrella".to_owned(),
            asked_until: Some(NOW.plus(HOUR)),
            health: Health {
                cause: Some(Cause::Unavailable),
                ..Health::default()
            },
            breaker: Some(OpenBreaker {
                since: NOW,
                probes: 12,
            }),
            ..LearnedGroup::default()
        }],
        ..LearnedGroups::default()
    };
    let written = world.store.save_groups(&learned, Uuid::nil(), None).await;
    written.unwrap();
    let report = world.run(&ALL).await.unwrap();
    assert_eq!(
        report.text,
        "\
GROUP       PENDING  RUNNING  NEWEST  OLDEST  STATE
globex      1        0        10s     10s     paused until 2027-01-15T08:30:00.000Z, 30m left: maintenance (by user/ana at 2027-01-15T08:00:00.000Z)
initech     0        0        -       -       limited to 2 concurrent tasks until 2027-01-15T09:00:00.000Z, 1h left: they asked (by user/ana at 2027-01-15T08:00:00.000Z)
umbrella    0        0        -       -       closed until 2027-01-15T09:00:00.000Z: the downstream is unavailable; circuit breaker open for 0s, failed probes: 12
acme        3        1        5s      5m      not paused or limited
(no group)  1        0        20s     20s     not paused or limited
index entries read: 6, all pending and running tasks"
    );
    let list = list(StatusName::Pending);
    let next = |text: &str, task| {
        let line = text.lines().find(|line| line.starts_with(task)).unwrap();
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .nth(4)
            .map(str::to_owned)
    };
    let listed = world.run(&list).await.unwrap().text;
    assert_eq!(next(&listed, "globex/1").unwrap(), "group opens in 30m");
    assert_eq!(next(&listed, "acme/1").unwrap(), "due");
    let hold = BreakerHold {
        until: NOW.plus(HOUR),
        reason: "a new release".to_owned(),
    };
    world.store.hold_breaker(&hold).await.unwrap();
    let listed = world.run(&list).await.unwrap().text;
    assert_eq!(next(&listed, "acme/1").unwrap(), "may start as a probe");
    world.run(&pause(HOUR / 2)).await.unwrap();
    let listed = world.run(&list).await.unwrap().text;
    assert_eq!(next(&listed, "acme/1").unwrap(), "queue resumes in 30m");
    let few = Groups {
        limit: 1,
        max_reads: 2,
    };
    let json = world.run(&few).await.unwrap().json;
    assert_eq!(json["read"], json!({ "entries": 3, "exact": false }));
    assert_eq!(json["groups"][0]["group"], json!("globex"));
    assert_eq!(json["groups"][0]["paused"]["remainingMs"], json!(1_800_000));
    assert_eq!(json["notShown"], json!(3));
    let status = world.run(&Status {}).await.unwrap();
    let row = "paused: globex; limited: initech; closed: umbrella; see freshq groups";
    assert!(status.text.contains(row), "{}", status.text);
}

#[tokio::test(start_paused = true)]
async fn group_is_limited_and_paused_until_an_operator_ends_it() {
    let mut world = World::start();
    let line = "group acme is limited to 2 concurrent tasks until 2027-01-15T09:00:00.000Z, 1h left: they asked (by user/ana at 2027-01-15T08:00:00.000Z)";
    world.done(&limit("acme"), line).await;
    let line = "group acme is paused until 2027-01-15T08:30:00.000Z, 30m left: maintenance (by user/ana at 2027-01-15T08:00:00.000Z)";
    world.done(&pause_of("acme"), line).await;
    let off = Limit {
        concurrency: None,
        time: None,
        reason: None,
        off: true,
        ..limit("acme")
    };
    let line = "the limit of group acme has ended; an active processor applies the limits of the settings with its next heartbeat";
    world.done(&off, line).await;
    let states = world.store.groups().await.unwrap();
    let acme = &states.overrides["acme"];
    assert!(acme.limit.is_none() && acme.pause.is_some(), "{acme:?}");
    let line = "the pause of group acme has ended";
    let resume = Resume { group: of("acme") };
    world.done(&resume, line).await;
    assert!(world.store.groups().await.unwrap().overrides.is_empty());
    let control = world.store.control().await.unwrap();
    assert!(control.limit(NOW).is_none() && !control.is_paused(NOW));
    assert_eq!(world.topics.process_tasks().len(), 1, "one notification");
}

#[tokio::test(start_paused = true)]
async fn change_of_too_many_groups_is_rejected() {
    let mut world = World::start();
    for n in 0..MAX_OVERRIDES {
        world.run(&limit(&format!("g{n}"))).await.unwrap();
    }
    let report = world.run(&limit("one-more")).await.unwrap();
    assert_eq!(report.exit, Exit::NotAll);
    let text = report.text;
    assert!(text.starts_with("not changed: 200 other groups"), "{text}");
    assert_eq!(report.json["done"], json!(false));
}

#[tokio::test(start_paused = true)]
async fn tasks_of_a_group_are_listed_and_cancelled_without_reading_others() {
    let mut world = world();
    let filter = || Filter {
        group: of("acme"),
        ..Filter::default()
    };
    let list = List {
        filter: filter(),
        limit: 2,
        ..list(StatusName::Pending)
    };
    let (ids, json) = world.listed(&list).await;
    assert_eq!(ids, ["acme/3", "acme/2"]);
    assert_eq!(json["read"], json!({ "tasks": 2, "pages": 1 }));
    let after = json["after"].as_str().map(|place| place.parse().unwrap());
    let (ids, _) = world.listed(&List { after, ..list }).await;
    assert_eq!(ids, ["acme/1"]);

    let mut cancel = Cancel {
        filter: filter(),
        dry_run: true,
        yes: true,
        ..Cancel::default()
    };
    let line = "tasks to cancel: 3; tasks read: 3; pages of the index: 1";
    world.done(&cancel, line).await;
    cancel.dry_run = false;
    world.done(&cancel, "cancelled: 3").await;
    assert_eq!(world.status("globex/1"), Some(TaskStatus::Pending));
    assert_eq!(world.status("acme/4"), Some(TaskStatus::Taken));
    assert_eq!(world.store.records().len(), 3);
}
