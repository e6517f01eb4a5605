//! Tests of verbs that change many tasks: redrive, purge and cancel.

use lifo_queue::store::ControlStore;
use serde_json::json;
use uuid::Uuid;

use super::*;

#[tokio::test(start_paused = true)]
async fn redrive_by_error_redrives_matches_and_dry_run_changes_nothing() {
    let mut world = World::start();
    world.put_failed("a", 10, "HTTP 502 from the gateway");
    world.put_failed("b", 20, "HTTP 400");
    world.put_failed("c", 30, "HTTP 502");
    let mut redrive = Redrive {
        tasks: Vec::new(),
        all: false,
        error: Some("502".to_owned()),
        dry_run: true,
        yes: true,
        ttl: HOUR,
    };
    let dry = world.run(&redrive).await.unwrap();
    assert_eq!(
        dry.text,
        "tasks to redrive: 2; tasks read: 3; pages of the index: 1\na\nc"
    );
    assert_eq!(world.status("a"), Some(TaskStatus::Failure));
    redrive.dry_run = false;
    world
        .done(&redrive, "redriven: 2; a processor was notified")
        .await;
    let states = ["a", "b", "c"].map(|id| world.status(id).unwrap());
    let (pending, failure) = (TaskStatus::Pending, TaskStatus::Failure);
    assert_eq!(states, [pending, failure, pending]);
    redrive.yes = false;
    let _no_terminal = world.run(&redrive).await.unwrap_err();
    assert!(world.prompt.asked[0].contains("those with \"502\" in the last error"));
}

#[tokio::test(start_paused = true)]
async fn purge_requires_the_table_name_and_pauses_the_queue_and_keeps_running_tasks() {
    let mut world = World::start();
    for (id, status) in [
        ("p", TaskStatus::Pending),
        ("t", TaskStatus::Taken),
        ("s", TaskStatus::Success),
        ("f", TaskStatus::Failure),
    ] {
        world.put(id, status, 60);
    }
    let purge = |confirm: Option<&str>| Purge {
        confirm: confirm.map(str::to_owned),
    };
    let wrong = "nothing was deleted: the given name does not match the table name, LifoQueue-dev";
    world
        .expect(&purge(Some("tasks")), wrong, Exit::Declined)
        .await;
    let failure = world.run(&purge(None)).await.unwrap_err().line();
    assert!(
        failure.ends_with("; use --confirm TABLE instead"),
        "{failure}"
    );
    world.prompt.answer = Some("yes".to_owned());
    world.expect(&purge(None), wrong, Exit::Declined).await;
    assert!(world.prompt.asked[0].starts_with(
        "This deletes 1 PENDING, 1 SUCCESS and 1 FAILURE tasks of LifoQueue-dev (account 111122223333, eu-central-1).\nType the name"
    ));
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
    assert_eq!(world.store.records().len(), 4);
    world.prompt.answer = Some("LifoQueue-dev".to_owned());
    world.done(&purge(None), "deleted: 3").await;
    let left: Vec<_> = world
        .store
        .records()
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(left, [TaskId::from_stored("t")]);
    let control = world.store.control().await.unwrap();
    assert_eq!(control.pause_reason.as_deref(), Some("freshq purge"));
    assert!(control.is_paused(world.clock.now()));
}

#[tokio::test(start_paused = true)]
async fn tasks_are_cancelled_by_payload_after_a_dry_run_and_a_confirmation() {
    let mut world = World::start();
    for (id, producer) in [("a", "shop"), ("b", "import"), ("c", "import")] {
        world.put(id, TaskStatus::Pending, 60);
        world.edit(id, |record| {
            record.payload = Some(json!({ "producer": producer }));
        });
    }
    let mut cancel = Cancel {
        filter: Filter {
            payload: Some(r#""producer":"import""#.to_owned()),
            newer_than: Some(HOUR),
            ..Filter::default()
        },
        dry_run: true,
        ..Cancel::default()
    };
    let line = "tasks to cancel: 2; tasks read: 3; pages of the index: 1";
    world.done(&cancel, line).await;
    cancel.dry_run = false;
    world.prompt.answer = Some("no".to_owned());
    world
        .expect(&cancel, "nothing was cancelled", Exit::Declined)
        .await;
    assert!(world.prompt.asked[0].starts_with("Delete 2 pending tasks of LifoQueue-dev (account"));
    assert_eq!(world.store.records().len(), 3);
    cancel.yes = true;
    world.done(&cancel, "cancelled: 2").await;
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    assert_eq!(world.store.records().len(), 1);
}

/// Writes a newer state of each key while the operator reads the prompt.
struct Overtaking(Arc<MemoryStore>);

impl Prompt for Overtaking {
    fn answer(&mut self, _: &str, _: &'static str) -> Result<String> {
        for (id, mut record) in self.0.records() {
            if id.as_str() != "same" {
                record.create_token = record.create_token.map(|_| Uuid::from_u128(2));
                record.created = Millis(record.created.0 + 1);
                self.0.put(id, record);
            }
        }
        Ok("y".to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_by_a_filter_keeps_states_written_during_the_prompt() {
    let world = World::start();
    for (id, token) in [("key", Some(1)), ("same", Some(3)), ("direct", None)] {
        world.put(id, TaskStatus::Pending, 60);
        world.edit(id, |record| {
            record.create_token = token.map(Uuid::from_u128);
        });
    }
    let cancel = Cancel {
        filter: Filter {
            newer_than: Some(HOUR),
            ..Filter::default()
        },
        ..Cancel::default()
    };
    let queue = Queue::on(world.store.clone(), NOW);
    let mut prompt = Overtaking(world.store.clone());
    let report = cancel.run(&queue, &mut prompt).await.unwrap();
    let text = "cancelled: 1; replaced by a newer state, not cancelled: 2";
    assert_eq!((report.text.as_str(), report.exit), (text, Exit::NotAll));
    assert_eq!(report.json["tasks"], json!(["same"]));
    let left = world.store.records().into_iter();
    let left: Vec<_> = left.map(|(id, _)| id.as_str().to_owned()).collect();
    assert_eq!(left, ["direct", "key"]);
}

#[tokio::test(start_paused = true)]
async fn cancel_waits_for_a_running_task() {
    let mut world = World::start();
    world.put("a", TaskStatus::Taken, 60);
    let cancel = |wait| Cancel {
        tasks: ids(&["a"]),
        wait,
        ..Cancel::default()
    };
    let line = "a  not cancelled: it is TAKEN";
    world.expect(&cancel(None), line, Exit::NotAll).await;
    let returns = {
        let store = world.store.clone();
        let mut record = world.task("a").unwrap();
        record.status = TaskStatus::Pending;
        async move {
            tokio::time::sleep(Duration::from_secs(90)).await;
            store.put(TaskId::from_stored("a"), record);
        }
    };
    let cancel = cancel(Some(Duration::from_secs(180)));
    let (_, ()) = tokio::join!(world.expect(&cancel, "a  cancelled", Exit::Done), returns);
    assert_eq!(world.status("a"), None);
}
