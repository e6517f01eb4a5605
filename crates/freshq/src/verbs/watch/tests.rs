//! Tests of the watch view as text, on the in-memory store.

use std::sync::Arc;

use lifo_queue::control::{
    Author, BreakerHold, Claim, GroupOverride, GroupPause, GroupStates, Pause,
};
use lifo_queue::operate::FoundTask;
use lifo_queue::schema;
use lifo_queue::store::memory::{MemoryStore, Record};
use lifo_queue::store::{ControlStore, OperatorStore};
use lifo_queue::task::{TaskId, TaskStatus, Ttl};
use lifo_queue::time::{EpochSeconds, Millis};
use simulator::texts::{begins, has};
use uuid::Uuid;

use super::*;
use crate::exit::Exit;
use crate::overrides::Unusual;

const NOW: Millis = Millis(1_800_000_000_000);

fn queue(store: &Arc<MemoryStore>) -> Queue {
    Queue::on(store.clone(), NOW)
}

fn put(store: &MemoryStore, id: &str, status: TaskStatus, age: i64) {
    let failed = status == TaskStatus::Failure;
    let record = Record {
        status,
        payload: Some(json!({ "order": id })),
        last_error: failed.then(|| format!("HTTP 500: no such order\nat {}", "far ".repeat(20))),
        ..Record::pending(
            Millis(NOW.0 - age * 1_000),
            Ttl::Seconds(EpochSeconds(1_900_000_000)),
        )
    };
    store.put(TaskId::from_stored(id), record);
}

#[test]
fn long_fact_wraps_between_words_and_long_word_at_the_edge() {
    let rows = facts::wrapped("response", "one two-three https://a.example/long", 24);
    let rows = rows.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = [
        "response   one ",
        "           two-three ",
        "           https://a.e",
        "           xample/long",
    ];
    assert_eq!(rows, expected);
}

#[tokio::test(start_paused = true)]
async fn the_view_shows_depth_rates_ages_processor_pause_and_breaker() {
    let store = Arc::<MemoryStore>::default();
    for n in 0..40 {
        put(&store, &format!("order-{n:02}"), TaskStatus::Pending, 3 * n);
    }
    for (id, status) in [("s1", TaskStatus::Success), ("s2", TaskStatus::Success)] {
        put(&store, id, status, 20);
    }
    for n in 0..6 {
        put(&store, &format!("failed-{n}"), TaskStatus::Failure, 20 * n);
    }
    let claim = Claim {
        owner: Uuid::from_u128(7),
        message_id: "m1".to_owned(),
        until: NOW.plus(Duration::from_secs(20)),
        rate_full_at: None,
    };
    store.acquire(&claim, NOW).await.unwrap();
    let queue = queue(&store);
    let mut history = History::default();
    for ms in [400_u64, 900, 1_500, 700] {
        let mut sample = sample::take(&queue).await.unwrap();
        sample.start_age = Some(Duration::from_millis(ms));
        sample.status.pending.count = u32::try_from(ms / 10).unwrap();
        history.add(sample);
    }
    insta::assert_snapshot!("busy", on(PRINTED, &history));

    let pause = Pause {
        until: NOW.plus(Duration::from_secs(90)),
        reason: "maintenance".to_owned(),
        by: None,
    };
    store.pause(&pause).await.unwrap();
    let hold = BreakerHold {
        until: NOW.plus(Duration::from_secs(600)),
        reason: "a new release".to_owned(),
    };
    store.hold_breaker(&hold).await.unwrap();
    history.failure = Some("DynamoDB request failed".to_owned());
    history.last = Some(sample::take(&queue).await.unwrap());
    for (columns, rows) in [(80, 20), (80, 24), (120, 40)] {
        let name = format!("stopped-{columns}x{rows}");
        insta::assert_snapshot!(name, on((columns, rows), &history));
    }
    let text = on(PRINTED, &history);
    for line in [
        "paused     1m 30s left: maintenance",
        "breaker    held open, 10m left: a new release",
        "the last sample failed: DynamoDB request failed",
    ] {
        has(&text, line);
    }
}

#[test]
fn a_long_id_is_shortened_to_its_group_and_its_end() {
    let short = |id: &str| view::short(&TaskId::from_stored(id));
    assert_eq!(short("order-2026-11-26-000123"), "order-2026-11-26-000123");
    let uuid = "01a2175c-8e42-76f2-b846-2cf5da51f3be";
    assert_eq!(short(uuid), "…da51f3be");
    assert_eq!(short(&format!("acme/{uuid}")), "acme/…da51f3be");
    let group = "a-group-with-a-long-name/ü";
    assert_eq!(short(group), group);
}

/// Returns the view on a terminal of this size.
fn on(size: (u16, u16), history: &History) -> String {
    printed("LifoQueue-dev", history, size, &Keys::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_pause_and_a_long_id_fit_eighty_columns() {
    let store = Arc::<MemoryStore>::default();
    put(&store, &"long-".repeat(10), TaskStatus::Pending, 5);
    let pause = Pause {
        until: NOW.plus(Duration::from_secs(290)),
        reason: "the downstream rejected 12 tasks in a row".to_owned(),
        by: None,
    };
    store.pause(&pause).await.unwrap();
    let mut history = History::default();
    history.add(sample::take(&queue(&store)).await.unwrap());
    let text = on((80, 20), &history);
    for line in [
        "left: the downstream rejected 12 tasks in a row  ",
        "5s  …ng-long-  {\"order\":\"long-l…│",
    ] {
        has(&text, line);
    }
}

#[tokio::test(start_paused = true)]
async fn paused_groups_and_superseded_tasks_are_in_the_first_lines() {
    let store = Arc::<MemoryStore>::default();
    let mut history = History::default();
    let mut sample = sample::take(&queue(&store)).await.unwrap();
    let pause = GroupPause {
        until: NOW.plus(Duration::from_secs(90)),
        reason: "maintenance".to_owned(),
        by: Author {
            name: "ana".to_owned(),
            at: NOW,
        },
    };
    let paused = GroupOverride {
        limit: None,
        pause: Some(pause),
    };
    let states = GroupStates {
        overrides: [("acme".to_owned(), paused)].into(),
        ..GroupStates::default()
    };
    sample.groups = Unusual::of(&states, NOW);
    sample.tasks.running = vec![FoundTask {
        id: TaskId::from_stored("meter-"),
        created: NOW,
        attributes: [(schema::SUPERSEDED.to_owned(), 571.into())]
            .into_iter()
            .collect(),
    }];
    history.add(sample);
    let text = on((80, 20), &history);
    for line in [
        "groups     paused: acme; see freshq groups",
        "keys       571 tasks were replaced by newer ones with the keys that run",
    ] {
        has(&text, line);
    }
}

#[tokio::test(start_paused = true)]
async fn view_omits_empty_lists_of_pending_tasks() {
    let store = Arc::<MemoryStore>::default();
    let mut history = History::default();
    history.add(sample::take(&queue(&store)).await.unwrap());
    let text = on((80, 20), &history);
    has(&text, "no task is pending");
    assert!(!text.contains("oldest"), "{text}");
    assert!(!text.contains("newest failed"), "{text}");
    put(&store, "f", TaskStatus::Failure, 20);
    history.add(sample::take(&queue(&store)).await.unwrap());
    let text = on((80, 20), &history);
    has(&text, "20s  f: HTTP 500: no such order at far");
    let keys = Keys {
        mode: keys::Mode::Help,
        ..Keys::default()
    };
    let help = printed("LifoQueue-dev", &history, (80, 20), &keys).unwrap();
    has(&help, "p      pause the queue for 15 minutes");
    has(&help, "paused     no");
}

#[tokio::test(start_paused = true)]
async fn keys_pause_resume_and_show_a_task() {
    let store = Arc::<MemoryStore>::default();
    put(&store, "order-1", TaskStatus::Pending, 5);
    let queue = queue(&store);
    let paused = carry_out(&queue, Action::Pause("maintenance".to_owned())).await;
    has(&paused, "15m left: maintenance (by user/ana");
    let resumed = carry_out(&queue, Action::Resume).await;
    begins(&resumed, "resumed: a processor was notified");
    let shown = carry_out(&queue, Action::Show(TaskId::from_stored("order-1"))).await;
    has(&shown, "taskStatus     PENDING");
}

#[tokio::test(start_paused = true)]
async fn watch_once_prints_and_live_view_requires_a_terminal() {
    let store = Arc::<MemoryStore>::default();
    let once = Watch {
        every: Duration::from_secs(2),
        once: true,
    };
    let report = once.run(&queue(&store), &mut NoTerminal).await.unwrap();
    has(&report.text, "age at start: not measured yet");
    assert_eq!(report.json["pending"]["count"], json!(0));
    assert_eq!(report.json["medianRunMs"], json!(null));
    assert_eq!(report.json["newestFailed"], json!([]));
    assert!(report.text.contains("pending: 0"));
    let live = Watch {
        once: false,
        ..once
    };
    let failure = live.run(&queue(&store), &mut NoTerminal).await.unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage, "a test has no terminal");
}
