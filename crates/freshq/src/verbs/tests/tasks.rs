//! Tests of redrive and cancel.

use std::sync::atomic::{AtomicU32, Ordering};

use lifo_queue::task::Ttl;
use serde_json::json;
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;

use super::*;

fn redrive(tasks: &[&str]) -> Redrive {
    Redrive {
        tasks: ids(tasks),
        all: tasks.is_empty(),
        error: None,
        dry_run: false,
        yes: false,
        ttl: 2 * HOUR,
    }
}

fn outcomes(report: &Report) -> Vec<String> {
    let tasks = report.json["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| task["outcome"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the world's store, except that the `nth` call of `step` (counted from 1) has a fault.
fn failing(world: &World, step: &'static str, nth: u32, fault: Fault) -> Arc<dyn QueueStore> {
    let calls = AtomicU32::new(0);
    Arc::new(FaultyStore::new(world.store.clone(), move |operation| {
        let is_it = operation == step && calls.fetch_add(1, Ordering::SeqCst) + 1 == nth;
        is_it.then_some(fault)
    }))
}

#[tokio::test(start_paused = true)]
async fn redrive_retries_failed_tasks_and_reports_others() {
    let mut world = World::start();
    world.put("failed", TaskStatus::Failure, 60);
    world.put("done", TaskStatus::Success, 60);
    let report = world.report(&redrive(&["failed", "done", "absent"])).await;
    let text = "\
failed  redriven
done    not redriven: it is SUCCESS
absent  not found";
    assert_eq!((report.text.as_str(), report.exit), (text, Exit::NotAll));
    let task = world.task("failed").unwrap();
    assert_eq!((task.status, task.attempts), (TaskStatus::Pending, 0));
    assert_eq!(task.ttl, Ttl::Seconds(NOW.ceil_seconds().plus(2 * HOUR)));
    assert_eq!(world.status("done"), Some(TaskStatus::Success));
    assert_eq!(world.topics.process_tasks().len(), 1);
    world.put("failed", TaskStatus::Failure, 60);
    let report = world.report(&redrive(&["failed"])).await;
    assert_eq!(report.exit, Exit::Done);
}

#[tokio::test(start_paused = true)]
async fn table_error_stops_redrive_and_every_task_has_an_outcome() {
    let mut world = World::start();
    for id in ["a", "b", "c"] {
        world.put(id, TaskStatus::Failure, 60);
    }
    let store = failing(&world, "redrive", 2, Fault::LostRequest);
    let report = world
        .run_on(store, &redrive(&["a", "b", "c"]))
        .await
        .unwrap();
    assert_eq!(outcomes(&report), ["redriven", "unknown", "notTried"]);
    assert_eq!(report.exit, Exit::Failed);
    let line = "b  possibly not redriven: DynamoDB request failed: redrive: no response";
    has(&report.text, line);
    assert_eq!(world.status("c"), Some(TaskStatus::Failure));
}

#[tokio::test(start_paused = true)]
async fn redriven_task_stays_pending_if_the_notification_fails() {
    let mut world = World::start();
    world.put("a", TaskStatus::Failure, 60);
    world.put("b", TaskStatus::Failure, 60);
    world.topics.set_broken(true);
    let report = world.report(&redrive(&["a", "b"])).await;
    assert_eq!(report.exit, Exit::Failed);
    let json = report.json;
    assert_eq!(json["tasks"][0]["outcome"], json!("redriven"));
    let why = json["tasks"][0]["notWoken"].as_str().unwrap();
    assert!(why.contains("the topic is broken"), "{why}");
    let both = [world.status("a"), world.status("b")];
    assert_eq!(both, [Some(TaskStatus::Pending); 2]);
}

#[tokio::test(start_paused = true)]
async fn redrive_all_asks_for_confirmation() {
    let mut world = World::start();
    world.done(&redrive(&[]), "redriven: 0").await;
    assert!(world.prompt.asked.is_empty(), "nothing to ask about");
    for id in ["a", "b", "c"] {
        world.put(id, TaskStatus::Failure, 60);
    }
    let failure = world.run(&redrive(&[])).await.unwrap_err();
    has(&failure.line(), "; use --yes");
    world.prompt.answer = Some("no".to_owned());
    world
        .expect(&redrive(&[]), "nothing was redriven", Exit::Declined)
        .await;
    assert_eq!(world.status("a"), Some(TaskStatus::Failure));
    world.prompt.answer = Some("yes".to_owned());
    let line = "redriven: 3; a processor was notified";
    world.done(&redrive(&[]), line).await;
    let question = "Retry 3 failed tasks of LifoQueue-dev (account 111122223333, eu-central-1) \
                    with a new expiry in 2h? [y/N] ";
    assert_eq!(world.prompt.asked, [question; 3]);
    assert_eq!(world.topics.process_tasks().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn yes_option_skips_the_confirmation() {
    let mut world = World::start();
    world.put("a", TaskStatus::Failure, 60);
    let yes = Redrive {
        yes: true,
        ..redrive(&[])
    };
    let report = world.report(&yes).await;
    assert_eq!(
        report.json,
        json!({ "redriven": 1, "lost": 0, "failed": [], "wake": "published" })
    );
    assert!(world.prompt.asked.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancel_deletes_pending_tasks_and_reports_others() {
    let mut world = World::start();
    world.put("waits", TaskStatus::Pending, 60);
    world.put("runs", TaskStatus::Taken, 60);
    let cancel = |tasks| Cancel {
        tasks: ids(tasks),
        ..Cancel::default()
    };
    let report = world.report(&cancel(&["waits", "runs", "absent"])).await;
    let text = "\
waits   cancelled
runs    not cancelled: it is TAKEN
absent  not found";
    assert_eq!((report.text.as_str(), report.exit), (text, Exit::NotAll));
    assert_eq!(
        (world.status("waits"), world.status("runs")),
        (None, Some(TaskStatus::Taken))
    );
    world.put("waits", TaskStatus::Pending, 60);
    assert_eq!(world.report(&cancel(&["waits"])).await.exit, Exit::Done);
    let store = failing(&world, "cancel", 1, Fault::LostRequest);
    let report = world
        .run_on(store, &cancel(&["runs", "waits"]))
        .await
        .unwrap();
    assert_eq!(outcomes(&report), ["unknown", "notTried"]);
    assert_eq!(report.exit, Exit::Failed);
    assert!(
        world.topics.process_tasks().is_empty(),
        "cancelling wakes no processor"
    );
}

#[tokio::test(start_paused = true)]
async fn task_that_cannot_be_changed_is_named_with_its_error_and_the_exit_code() {
    let mut world = World::start();
    for id in ["a", "b", "c"] {
        world.put(id, TaskStatus::Failure, 60);
    }
    let purge = Purge {
        confirm: Some("LifoQueue-dev".to_owned()),
    };
    let redrive = Redrive {
        yes: true,
        ..redrive(&[])
    };
    let store = failing(&world, "redrive", 2, Fault::Invalid);
    let redriven = world.run_on(store, &redrive).await;
    let (id, text) = not_changed(&redriven.unwrap());
    assert_eq!(world.status(&id), Some(TaskStatus::Failure));
    assert_eq!(
        text.lines().next(),
        Some("redriven: 2; a processor was notified")
    );
    let store = failing(&world, "purge", 2, Fault::Invalid);
    let purged = world.run_on(store, &purge).await;
    let (id, text) = not_changed(&purged.unwrap());
    assert!(world.status(&id).is_some());
    assert_eq!(text.lines().next(), Some("deleted: 2"));
    assert_eq!(world.store.records().len(), 1);
}

/// Returns the only task that a report lists as not changed, and the text.
fn not_changed(report: &Report) -> (String, String) {
    assert_eq!(report.exit, Exit::Failed);
    let failed = report.json["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let [id, error] = ["taskId", "error"].map(|name| failed[0][name].as_str().unwrap());
    assert!(error.contains("rejected by DynamoDB"), "{error}");
    let text = report.text.clone();
    let named = format!("\nnot changed: 1\n{id}: {error}");
    assert!(text.contains(&named), "{text}");
    (id.to_owned(), text)
}
