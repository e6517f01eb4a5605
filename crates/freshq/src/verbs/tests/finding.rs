//! Tests of list, show, purge, and redrive by error.

use lifo_queue::store::Cursor;
use serde_json::{Value, json};

use super::*;

fn with_error(text: &str) -> Filter {
    Filter {
        error: Some(text.to_owned()),
        ..Filter::default()
    }
}

impl World {
    /// Stores a failed task that was created `age` seconds ago.
    pub(super) fn put_failed(&self, id: &str, age: u64, error: &str) {
        self.put(id, TaskStatus::Failure, age);
        self.edit(id, |record| {
            record.last_error = Some(error.to_owned());
            record.payload = Some(json!({ "order": 1 }));
        });
    }

    pub(super) async fn listed(&mut self, list: &List) -> (Vec<String>, Value) {
        let json = self.run(list).await.unwrap().json;
        let tasks = json["tasks"].as_array().unwrap().iter();
        let ids = tasks.map(|task| task["taskId"].as_str().unwrap().to_owned());
        (ids.collect(), json)
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_are_listed_newest_first_and_page_by_page() {
    let mut world = World::start();
    for n in 0..7 {
        world.put(&format!("t{n}"), TaskStatus::Pending, 60 * n);
    }
    world.put("other", TaskStatus::Success, 10);
    let mut list = List {
        limit: 3,
        ..list(StatusName::Pending)
    };
    let mut pages = Vec::new();
    loop {
        let (ids, json) = world.listed(&list).await;
        pages.push(ids.join(" "));
        match json["after"].as_str() {
            None => break,
            Some(after) => list.after = Some(after.parse().unwrap()),
        }
    }
    assert_eq!(pages, ["t0 t1 t2", "t3 t4 t5", "t6"]);
}

#[tokio::test(start_paused = true)]
async fn empty_list_names_the_status_and_how_to_list_all() {
    let mut world = World::start();
    world.put("done", TaskStatus::Success, 10);
    let pending = world.run(&list(StatusName::Pending)).await.unwrap().text;
    begins(&pending, "no task is PENDING; --status any lists");
    let any = world.run(&list(StatusName::Any)).await.unwrap().text;
    has(&any, "done");
    let mut other = list(StatusName::Success);
    other.filter.payload = Some("other".to_owned());
    let none = world.run(&other).await.unwrap().text;
    begins(&none, "no task that was read matches");
}

#[tokio::test(start_paused = true)]
async fn list_filters_by_age_and_error_and_bounds_its_reads() {
    let mut world = World::start();
    for n in 0..10 {
        let error = if n % 2 == 0 { "HTTP 502" } else { "HTTP 400" };
        world.put_failed(&format!("t{n}"), 60 * n, error);
    }
    let filtered = |filter| List {
        filter,
        ..list(StatusName::Failure)
    };
    let minutes = |n: u64| Some(Duration::from_secs(60 * n));
    let (ids, _) = world
        .listed(&filtered(Filter {
            older_than: minutes(3),
            newer_than: minutes(6),
            ..with_error("502")
        }))
        .await;
    assert_eq!(ids, ["t4", "t6"]);
    // Three tasks are read, and one of them matches.
    let bounded = List {
        max_reads: 3,
        ..filtered(with_error("400"))
    };
    let (ids, json) = world.listed(&bounded).await;
    assert_eq!(ids, ["t1"]);
    assert_eq!(json["read"], json!({ "tasks": 3, "pages": 1 }));
    let after: Cursor = json["after"].as_str().unwrap().parse().unwrap();
    assert!(after.to_string().ends_with(":t2"));
    let crossed = filtered(Filter {
        older_than: minutes(6),
        newer_than: minutes(3),
        ..Filter::default()
    });
    let failure = world.run(&crossed).await.unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
}

#[tokio::test(start_paused = true)]
async fn list_show_and_status_output_match_snapshots() {
    let mut world = World::start();
    world.put_failed(
        "order-1",
        3_723,
        "HTTP 400: the order is unknown to the system behind, which says more",
    );
    world.put("order-2", TaskStatus::Failure, 60);
    let listed = world.run(&list(StatusName::Failure)).await.unwrap();
    insta::assert_snapshot!("list", listed.text);
    let show = |id| Show {
        task: TaskId::from_stored(id),
    };
    let shown = world.run(&show("order-1")).await.unwrap();
    insta::assert_snapshot!("show", shown.text);
    insta::assert_snapshot!("show-json", format!("{:#}", shown.json));
    let missing = world.run(&show("absent")).await.unwrap();
    insta::assert_snapshot!("show-absent", missing.text);
    assert_eq!(missing.exit, Exit::NotAll);
    let status = world.run(&Status {}).await.unwrap();
    insta::assert_snapshot!("status", status.text);
}

#[tokio::test(start_paused = true)]
async fn tasks_of_all_statuses_are_listed_with_status_and_payload() {
    let mut world = World::start();
    world.put("waits", TaskStatus::Pending, 30);
    world.put("runs", TaskStatus::Taken, 20);
    world.put_failed("failed", 10, "HTTP 400");
    world.put("done", TaskStatus::Success, 5);
    let (ids, json) = world.listed(&list(StatusName::Any)).await;
    assert_eq!(ids, ["done", "failed", "runs", "waits"]);
    assert_eq!(json["tasks"][1]["payload"], json!({ "order": 1 }));
    let text = world.run(&list(StatusName::Any)).await.unwrap().text;
    has(&text, "failed  FAILURE  10s");
    has(&text, r#"{"order":1}"#);
    let few = List {
        limit: 1,
        ..list(StatusName::Any)
    };
    let (ids, json) = world.listed(&few).await;
    assert_eq!((ids.len(), &json["after"]), (1, &Value::Null));
    let after = List {
        after: "1:a".parse().ok(),
        ..list(StatusName::Any)
    };
    assert_eq!(world.run(&after).await.unwrap_err().exit(), Exit::Usage);
}

#[tokio::test(start_paused = true)]
async fn a_filter_reads_whole_pages_and_continues_after_the_last_match() {
    let mut world = World::start();
    for n in 0..90 {
        let error = if n % 30 == 29 { "HTTP 503" } else { "HTTP 400" };
        world.put_failed(&format!("t{n:02}"), n, error);
    }
    let mut list = List {
        filter: with_error("503"),
        limit: 2,
        ..list(StatusName::Failure)
    };
    let (ids, json) = world.listed(&list).await;
    assert_eq!(ids, ["t29", "t59"]);
    assert_eq!(
        json["read"]["pages"],
        json!(1),
        "not one page per two tasks"
    );
    list.after = Some(json["after"].as_str().unwrap().parse().unwrap());
    let (ids, json) = world.listed(&list).await;
    assert_eq!(
        (ids, &json["after"]),
        (vec!["t89".to_owned()], &Value::Null)
    );
}

#[tokio::test(start_paused = true)]
async fn errors_are_grouped_by_pattern_across_all_statuses() {
    let mut world = World::start();
    for (id, error) in [
        (
            "a",
            "HTTP 502: job 17 of 0192a1c3-7d5e-7f00-8a1b-3c4d5e6f7a8b",
        ),
        (
            "b",
            "HTTP 502: job 4711 of 1192a1c3-7d5e-7f00-8a1b-3c4d5e6f7a8b",
        ),
        ("c", "HTTP 400: no"),
    ] {
        world.put_failed(id, 60, error);
    }
    world.put_failed(
        "d",
        10,
        "HTTP 502: job 3 of 2192a1c3-7d5e-7f00-8a1b-3c4d5e6f7a8b",
    );
    world.edit("d", |record| record.status = TaskStatus::Pending);
    world.put("e", TaskStatus::Pending, 5);
    let errors = Errors {
        max_reads: 100,
        newer_than: None,
    };
    let report = world.run(&errors).await.unwrap();
    let expected = "\
TASKS                 NEWEST  EXAMPLE  ERROR
FAILURE 2, PENDING 1  10s     d        HTTP 502: job <n> of <uuid>
FAILURE 1             1m      c        HTTP 400: no
tasks read: 5; pages of the index: 3";
    assert_eq!(report.text, expected);
    let json = report.json;
    assert_eq!(
        json["errors"][0]["statuses"],
        json!({ "FAILURE": 2, "PENDING": 1 })
    );
    assert_eq!(json["errors"][0]["example"].as_str().unwrap().len(), 55);
    // The printed pattern is accepted as a filter.
    let found = List {
        filter: with_error("job <n> of <uuid>"),
        ..list(StatusName::Failure)
    };
    assert_eq!(world.listed(&found).await.0, ["b", "a"]);
}
