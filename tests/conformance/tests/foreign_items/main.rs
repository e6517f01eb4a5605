//! Items from direct writers. Whatever attributes an item has, it runs, stays pending or fails, and
//! never blocks the tasks at the head of the queue.
#![allow(clippy::unwrap_used)]

mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnector, http_client_fn};
use conformance::RETENTION;
use lifo_queue::store::dynamodb::DynamoStore;
use lifo_queue::store::{Cancelled, ControlStore, OperatorStore, Redrive, Redriven, Seen};
use lifo_queue::task::TaskId;
use lifo_queue::time::{Clock, Millis, SystemClock};
use lifo_queue::trace::{self, TraceSettings, Tracer};
use simulator::dynamodb::TABLE;
use simulator::protocol;

use self::world::{World, number, text};

const HOUR: i64 = 3_600;

#[tokio::test]
async fn item_with_only_the_three_required_attributes_runs() {
    let world = World::start().await;
    world.put("bare", 0, &[]).await;
    let summary = world.turn().await;
    assert_eq!((summary.taken, summary.succeeded), (1, 1));
    let task = world.ran("bare").unwrap();
    assert_eq!((task.attempt, task.payload), (1, serde_json::Value::Null));
    let left = task.expires_at.0 - world.now.ceil_seconds().0;
    // The default expiry, counted from the time at which the task was first seen.
    assert!((HOUR..HOUR + 60).contains(&left), "{left}");
    // The retention for SUCCESS, in epoch seconds.
    let kept = world.ttl("bare").await - world.now.floor_seconds().0;
    assert!((60..120).contains(&kept), "{kept}");
}

#[tokio::test]
async fn task_with_a_malformed_trace_header_runs() {
    let world = World::start().await;
    let malformed = [
        ("unfinished", text("Root=1-5759e988")),
        (
            "injected",
            text("Root=1-63442e4f-111111111111111111111111;Parent=\r\nx: y"),
        ),
        ("number", number(7)),
        ("empty", text("")),
    ];
    for (id, header) in &malformed {
        world.put(id, 0, &[("traceHeader", header.clone())]).await;
    }
    let settings = TraceSettings { sampled_tasks: 1.0 };
    let daemon = SocketAddr::from(([127, 0, 0, 1], 9));
    let tracer = Tracer::new(daemon, Arc::new(SystemClock), "f", settings).unwrap();
    let summary = trace::invocation(Some(&Arc::new(tracer)), None, world.turn()).await;
    assert_eq!(summary.succeeded, 4);
    for (id, header) in &malformed {
        assert_eq!(world.item(id).await["traceHeader"], *header, "{id}");
    }
}

#[tokio::test]
async fn ttl_in_milliseconds_is_interpreted_as_milliseconds() {
    let world = World::start().await;
    let (hour, past) = (world.now.0 + HOUR * 1_000, world.now.0 - 1);
    let seconds = world.now.0 / 1_000;
    for (id, ttl) in [
        ("millis", hour),
        ("millis-past", past),
        ("seconds", seconds + HOUR),
        ("seconds-past", seconds - 1),
    ] {
        world.put(id, 0, &[("ttl", number(ttl))]).await;
    }
    let summary = world.turn().await;
    assert_eq!((summary.taken, summary.lost_races), (2, 0));
    assert_eq!(world.ran("millis").unwrap().expires_at.0, hour / 1_000);
    let expires = world.ran("seconds").unwrap().expires_at;
    assert_eq!(expires.0, seconds + HOUR);
    // These items are left for DynamoDB's TTL to delete.
    for id in ["millis-past", "seconds-past"] {
        assert_eq!(world.status(id).await, "PENDING", "{id}");
    }
    // Interpreted as seconds, the `ttl` in milliseconds would be millennia in the future.
    let report = world.sweep("first").await;
    assert_eq!((report.due, report.woke, report.adopted), (false, false, 1));
    assert_eq!(world.item("millis-past").await["ttl"], number(past / 1_000));
    assert_eq!(world.sweep("second").await.adopted, 0);
}

#[tokio::test]
async fn item_that_cannot_be_taken_fails_without_blocking_other_tasks() {
    let world = World::start().await;
    world.put("healthy", 0, &[]).await;
    let bytes = AttributeValue::B(Blob::new([0_u8, 159]));
    for (id, name, value) in [
        ("attempts", "attempts", text("three")),
        ("total", "totalAttempts", AttributeValue::Bool(true)),
        ("ttl", "ttl", text("tomorrow")),
        ("fraction", "attempts", AttributeValue::N("0.5".into())),
        ("bytes", "payload", bytes),
        ("not-before", "notBefore", text("later")),
    ] {
        world.put(id, 1, &[(name, value)]).await;
    }
    // An item at DynamoDB's 400 KB limit, with no space for the attributes of a take.
    let full = "x".repeat(400 * 1024 - 60);
    world.put("full", 7, &[("p", text(&full))]).await;
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 3, "{summary:?}");
    for id in ["attempts", "total", "ttl", "bytes", "full"] {
        assert_eq!(world.status(id).await, "FAILURE", "{id}");
        assert!(world.ran(id).is_none(), "{id}");
    }
    assert_eq!(summary.quarantined, 5, "{summary:?}");
    assert_eq!(summary.failed, 5);
    for id in ["healthy", "not-before", "fraction"] {
        assert_eq!(world.status(id).await, "SUCCESS", "{id}");
    }
    // The item is retained for as long as any task in FAILURE.
    let kept = world.ttl("attempts").await;
    let now = SystemClock.now().floor_seconds();
    let until = now.plus(RETENTION.failure).0;
    assert!((until - 60..=until + 1).contains(&kept), "{kept}, {until}");
    let error = world.item("ttl").await["lastError"].as_s().unwrap().clone();
    assert!(error.contains("epoch seconds"), "{error}");
}

#[tokio::test]
async fn task_with_a_creation_time_in_decimals_or_seconds_runs() {
    let world = World::start().await;
    let decimals = AttributeValue::N(format!("{}.75", world.now.0));
    world.put("decimals", 0, &[("taskCreated", decimals)]).await;
    let seconds = number(world.now.0 / 1_000);
    world.put("seconds", 0, &[("taskCreated", seconds)]).await;
    for n in 0..30 {
        world.put(&format!("same-{n}"), -5, &[]).await;
    }
    let summary = world.turn().await;
    assert_eq!(summary.succeeded, 32, "{summary:?}");
    assert_eq!(world.ran("decimals").unwrap().task_created, world.now);
}

#[tokio::test]
async fn sweep_wakes_for_a_due_task_without_a_notification() {
    let world = World::start().await;
    world.put("silent", 0, &[]).await;
    let report = world.sweep("first").await;
    assert_eq!((report.due, report.woke, report.adopted), (true, true, 1));
    assert_eq!(world.topics.process_tasks().len(), 1);
    // The notification may be lost, so the next sweep sends another one.
    assert!(world.sweep("second").await.woke);
    assert_eq!(world.turn().await.succeeded, 1);
    assert!(!world.sweep("third").await.due);
}

#[tokio::test]
async fn a_taken_item_that_is_full_or_has_no_deadline_is_returned() {
    let world = World::start().await;
    let lease = |more: &[(&'static str, AttributeValue)]| {
        let mut item = vec![
            ("taskStatus", text("TAKEN")),
            ("leaseToken", text("6f0d2bd1-6f4f-4d0e-8a53-3b8d2f4e5a10")),
            ("leaseUntil", number(world.now.0 - 60_000)),
            ("attempts", number(1)),
        ];
        item.extend_from_slice(more);
        item
    };
    world.put("no-ttl", 0, &lease(&[])).await;
    let ttl = number(world.now.0 / 1_000 + 86_400);
    let deadline = number(world.now.0 / 1_000 + HOUR);
    // The item has no space for a `lastError`.
    let full = text(&"x".repeat(400 * 1024 - 155));
    let full = lease(&[("ttl", ttl), ("expiresAt", deadline.clone()), ("p", full)]);
    world.put("full", 1, &full).await;
    let report = world.sweep("first").await;
    assert_eq!((report.returned, report.errors), (2, 0), "{report:?}");
    for id in ["no-ttl", "full"] {
        assert_eq!(world.status(id).await, "PENDING", "{id}");
    }
    let item = world.item("full").await;
    assert_eq!((&item["ttl"], item.get("lastError")), (&deadline, None));
    assert!(world.item("no-ttl").await.contains_key("ttl"), "adopted");
}

#[tokio::test]
async fn sweep_quarantines_a_task_whose_ttl_dynamodb_ignores() {
    let world = World::start().await;
    let five_years = 5 * 365 * 86_400;
    let reach = world.now.0 / 1_000 - five_years;
    world.put("duration", 0, &[("ttl", number(3_600))]).await;
    world.put("beyond", 1, &[("ttl", number(reach - 60))]).await;
    world.put("within", 2, &[("ttl", number(reach + 60))]).await;
    assert_eq!(world.turn().await.taken, 0);
    let report = world.sweep("first").await;
    assert_eq!((report.quarantined, report.errors), (2, 0), "{report:?}");
    assert_eq!((report.due, report.pending.count), (false, 0));
    for id in ["duration", "beyond"] {
        assert_eq!(world.status(id).await, "FAILURE", "{id}");
        let (item, ttl) = (world.item(id).await, world.ttl(id).await);
        assert!(ttl > world.now.0 / 1_000, "{id}: {ttl}");
        let error = item["lastError"].as_s().unwrap();
        assert!(error.contains("epoch seconds"), "{error}");
    }
    assert_eq!(world.status("within").await, "PENDING", "left to DynamoDB");
    assert_eq!(world.sweep("second").await.quarantined, 0);
}

#[tokio::test]
async fn tasks_without_ttl_are_adopted_with_bounded_concurrency() {
    let world = World::start().await;
    for n in 0..60 {
        world.put(&format!("bare-{n}"), n, &[]).await;
    }
    let most = Arc::<AtomicU32>::default();
    let (below, counted) = (world.client.config().http_client().unwrap(), most.clone());
    let under_way = Arc::<AtomicU32>::default();
    let http = http_client_fn(move |settings, components| {
        let below = below.http_connector(settings, components);
        let (under_way, counted) = (under_way.clone(), counted.clone());
        protocol::connector(move |request| {
            let update = u32::from(protocol::operation(&request) == "UpdateItem");
            let (below, under_way) = (below.clone(), under_way.clone());
            let before = under_way.fetch_add(update, Ordering::SeqCst);
            counted.fetch_max(before + update, Ordering::SeqCst);
            async move {
                // Long enough for other requests to start.
                tokio::time::sleep(Duration::from_millis(5)).await;
                let response = below.call(request).await;
                under_way.fetch_sub(update, Ordering::SeqCst);
                response
            }
        })
    });
    let config = world.client.config().to_builder().http_client(http).build();
    let store = DynamoStore::new(Client::from_conf(config), TABLE);
    let report = world.sweep_on(Arc::new(store), "first").await;
    assert_eq!((report.adopted, report.errors), (60, 0), "{report:?}");
    let most = most.load(Ordering::SeqCst);
    assert!((4..=16).contains(&most), "{most}");
}

#[tokio::test]
async fn failed_task_with_a_decimal_creation_time_is_redriven() {
    let world = World::start().await;
    let created = world.now.0 - 5_000;
    let decimals = AttributeValue::N(format!("{created}.75"));
    let malformed = [("taskCreated", decimals), ("ttl", text("tomorrow"))];
    world.put("decimals", 0, &malformed).await;
    assert_eq!(world.turn().await.failed, 1);
    let redrive = Redrive {
        task: TaskId::from_stored("decimals"),
        state: Seen::Any,
        expires_at: world.now.ceil_seconds().plus(RETENTION.failure),
    };
    let redriven = world.store.redrive(&redrive, world.now).await.unwrap();
    assert_eq!(redriven, Redriven::Done);
    assert_eq!(world.status("decimals").await, "PENDING");
    let decimals = TaskId::from_stored("decimals");
    for (at, expected) in [
        (created - 1, Cancelled::Replaced),
        (created + 1, Cancelled::Replaced),
        (i64::MAX, Cancelled::Replaced),
    ] {
        let seen = Seen::Created(Millis(at));
        assert_eq!(
            world.store.cancel(&decimals, &seen).await.unwrap(),
            expected
        );
    }
    let bound = world.store.control().await.unwrap().redriven.unwrap();
    assert_eq!(bound.oldest, Millis(created));
}
