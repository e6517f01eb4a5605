//! Tests the content of the pages, and the changes that they make.

use lifo_queue::control::{Author, Pause};
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;

use super::*;
use crate::verbs::{Fake, open_breaker};

#[tokio::test]
async fn start_page_shows_state_charts_running_and_pending_tasks() {
    let world = World::start(true).await;
    for n in 0..24 {
        world.put(&format!("order-{n:02}"), TaskStatus::Pending, 3 * n, None);
    }
    world.put("runs", TaskStatus::Taken, 20, None);
    world.put("failed", TaskStatus::Failure, 20, Some("HTTP 500"));
    let shows = [
        "<title>Queue – LifoQueue-dev – freshq</title>",
        "<span>LifoQueue-dev in account 111122223333, eu-central-1</span>",
        "<dt>PENDING</dt><dd>24</dd>",
        "tasks are created faster than they finish; the oldest expires in 1h (surplus: 0.4/s). Next: <a href=\"doctor\">Doctor</a>",
        "<dt>circuit breaker</dt><dd>closed</dd>",
        "<dt>oldest PENDING</dt><dd>1m 9s, created 2027-01-15T07:58:51.000Z</dd>",
        "<a href=\"task?id=runs\">runs</a>",
        "order-00",
        "order-23",
        "Created per second: <strong>0.4</strong>",
        "Succeeded per second: <strong>0.0</strong>",
        "Median run time: <strong>not measured yet</strong>",
        "Age at start: <strong>not measured yet</strong>",
        "The charts start at 2027-01-15T08:00:00.000Z.",
        "changes allowed",
        "<a class=\"button\" href=\"pause\">Pause…</a>",
        "<td>HTTP 500</td><td><code>{&quot;order&quot;:&quot;failed&quot;}</code></td>",
    ];
    let page = world.page("", &shows).await;
    assert_eq!(page.text.matches("<svg").count(), 6);
    assert!(!page.text.contains("Resume…"), "the queue is not paused");
}

#[tokio::test]
async fn one_warning_names_the_cause_of_an_open_breaker_or_the_reason_of_a_pause() {
    let expired = "certificate expired: not valid after 1799996400 (3600 seconds ago)";
    let cause = "the certificate of the endpoint expired at 2027-01-15T07:00:00.000Z";
    let pause = Pause {
        until: NOW.plus(Duration::from_secs(60)),
        reason: "maintenance".to_owned(),
        by: Some(Author {
            name: "ana".to_owned(),
            at: NOW,
        }),
    };
    let open = format!("The circuit breaker is open: {cause}, so only probes start. Next: ");
    let paused =
        "The queue is paused until 2027-01-15T08:01:00.000Z: maintenance (by ana at ".to_owned();
    for (pause, warning) in [(None, open), (Some(pause), paused)] {
        let world = World::start(true).await;
        open_breaker(&world.store, expired).await;
        if let Some(pause) = pause {
            world.store.pause(&pause).await.unwrap();
        }
        let page = world.page("", &[&warning]).await;
        assert_eq!(page.text.matches("class=\"warning\"").count(), 1);
    }
}

#[tokio::test]
async fn console_escapes_task_text() {
    let world = World::start(true).await;
    let (id, error) = ("<b>&\"x", "<script>alert('x')</script>");
    world.put(id, TaskStatus::Failure, 1, Some(error));
    for page in ["errors", "tasks?status=failure", "task?id=%3Cb%3E%26%22x"] {
        let shows = ["&lt;script&gt;alert('x')", "&lt;b&gt;&amp;"];
        let answer = world.page(page, &shows).await;
        assert!(
            !answer.text.contains("<script>") && !answer.text.contains("<b>"),
            "{page}"
        );
    }
    let shows = ["href=\"task?id=%3Cb%3E%26%22x\""];
    world.page("tasks?status=failure", &shows).await;
}

#[tokio::test]
async fn task_pages_show_and_search_payloads() {
    let world = World::start(false).await;
    world.put("other", TaskStatus::Failure, 2, Some("HTTP 500"));
    let long = json!({ "device": "pump-7", "log": "<b>\n\u{7}".repeat(10_000) });
    let record = Record {
        payload: Some(long),
        ..world.store.record(&TaskId::from_stored("other")).unwrap()
    };
    world.store.put(TaskId::from_stored("pump"), record);
    let page = world.get("tasks?status=failure&payload=pump-7").await;
    let row =
        "<code>{&quot;device&quot;:&quot;pump-7&quot;,&quot;log&quot;:&quot;&lt;b&gt;\\n\\u0007";
    page.expect(
        200,
        &["…</code></td>", row, "value=\"pump-7\"", "Tasks read: 2."],
    );
    assert!(
        page.text.len() < 5_000 && !page.text.contains("other"),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn the_doctor_page_shows_the_findings_of_the_command() {
    let store = Arc::<MemoryStore>::default();
    let mut broken = Fake::healthy();
    broken.set("failures", "/ApproximateNumberOfMessages", json!("3"));
    broken.messages = None;
    let mut site = site(store.clone(), false);
    site.queue.deployed = Some(Arc::new(broken));
    let world = World::serve(store, site).await;
    let shows = [
        "findings: <strong>1</strong>, not checked: 1.",
        "<h2>LifoQueue-dev</h2>",
        "<h3>queue the-failures (failures)</h3><p><strong>it contains 3 messages</strong></p>",
        "<h4>Remedy</h4><p>freshq messages",
        "<h2>AgentQueue-dev</h2>",
        "<h3>the calls for Basque, F</h3><p><strong>3 pending calls",
        "Not checked: the messages of queue the-failures (failures): ",
    ];
    world.page("doctor", &shows).await;
}

#[tokio::test]
async fn the_doctor_page_checks_the_state_of_a_queue_without_a_stack() {
    let store = Arc::<MemoryStore>::default();
    open_breaker(&store, "HTTP 503").await;
    let mut site = site(store.clone(), false);
    site.queue.is_dev = true;
    site.agents = Err("freshq dev has no agents' queue".to_owned());
    let world = World::serve(store, site).await;
    let shows = [
        "Checks of the state: 12, findings: <strong>1</strong>, not checked: 0.",
        "<h3>the circuit breaker</h3>",
        "The agents' queue is not checked: freshq dev has no agents' queue.",
    ];
    world.page("doctor", &shows).await;
}

#[tokio::test]
async fn failures_are_grouped_and_redriven_after_confirmation() {
    let world = World::start(true).await;
    for (id, age, error) in [
        ("a", 1, "HTTP 502: job 17 is lost"),
        ("b", 2, "HTTP 400"),
        ("c", 3, "HTTP 502: job 4711 is lost"),
        ("d", 4, ""),
    ] {
        world.put(id, TaskStatus::Failure, age, Some(error));
    }
    let shows = [
        "running tasks read: 4, distinct last errors: 3.",
        "<h2>No error was recorded</h2>",
        "Tasks read: <strong>2</strong>",
        "&quot;order&quot;: &quot;a&quot;",
        "deleted by DynamoDB",
        "href=\"redrive?error=HTTP%20502%3A%20job%20%3Cn%3E%20is%20lost\"",
        "<h2>HTTP 502: job &lt;n&gt; is lost</h2>",
        "(FAILURE 2)",
    ];
    let page = world.page("errors", &shows).await;
    let place = |text| page.text.find(text).unwrap();
    assert!(
        place("<h2>HTTP 502") < place("<h2>HTTP 400"),
        "the largest first"
    );

    let pattern = "redrive?error=HTTP%20502%3A%20job%20%3Cn%3E%20is%20lost";
    let shows = [
        "all failed tasks with &quot;HTTP 502: job &lt;n&gt; is lost&quot;",
        "tasks to redrive: 2",
    ];
    let question = world.page(pattern, &shows).await;
    question.expect(200, &[&format!("action=\"{pattern}\"")]);
    assert_eq!(world.status("a"), Some(TaskStatus::Failure), "only asked");
    let done = world.done(pattern, "ttl=2h").await;
    assert_eq!(done.header("location"), Some("errors?outcome=0"));
    let shows = [
        "redriven: 2; a processor was notified",
        "running tasks read: 4",
    ];
    world.page("errors?outcome=0", &shows).await;
    let states = ["a", "b", "c"].map(|id| world.status(id).unwrap());
    let (pending, failure) = (TaskStatus::Pending, TaskStatus::Failure);
    assert_eq!(states, [pending, failure, pending]);
    world.page("redrive?all=1", &["tasks to redrive: 2"]).await;
    world.done("redrive", "all=1&ttl=1h").await;
    assert_eq!(world.status("d"), Some(pending));
}

#[tokio::test]
async fn redrive_by_error_matches_multiline_errors() {
    let world = World::start(true).await;
    world.put("a", TaskStatus::Failure, 1, Some("no answer\nafter 1 s"));
    let shows = ["redrive?error=no%20answer%0Aafter%20%3Cn%3E%20s"];
    world.page("errors", &shows).await;
    let action = "redrive?error=no%20answer%0Aafter%201%20s";
    let shows = ["tasks to redrive: 1", &format!("action=\"{action}\"")];
    world
        .page("redrive?error=no%20answer%0Aafter%201%20s", &shows)
        .await;
    world.done(action, "ttl=1h").await;
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
}

#[tokio::test]
async fn task_page_offers_cancel_or_redrive_by_status() {
    let world = World::start(true).await;
    world.put("p", TaskStatus::Pending, 90, None);
    world.put("f", TaskStatus::Failure, 90, Some("HTTP 500"));
    let shows = [
        "<dt>taskStatus</dt><dd>PENDING</dd>",
        "1m 30s ago): created",
        "cancel?task=p",
    ];
    let page = world.page("task?id=p", &shows).await;
    assert!(!page.text.contains("Redrive…"));
    let cancelled = world.post("cancel", "task=p").await;
    assert_eq!(cancelled.header("location"), Some("./?outcome=0"));
    world.page("?outcome=0", &["p  cancelled"]).await;
    world.page("task?id=p", &["task p does not exist"]).await;
    world.page("task?id=f", &["redrive?task=f"]).await;
    let shows = ["Retry task f of LifoQueue-dev (account 111122223333, eu-central-1)"];
    world.page("redrive?task=f", &shows).await;
    let redriven = world.post("redrive", "task=f&ttl=1h").await;
    assert_eq!(redriven.header("location"), Some("task?outcome=1&id=f"));
    assert_eq!(world.status("f"), Some(TaskStatus::Pending));
    let again = world.post("redrive", "task=f&ttl=1h").await;
    assert_eq!(again.header("location"), Some("task?outcome=2&id=f"));
    let shows = ["outcome problem", "f  not redriven: it is PENDING"];
    world.page("task?outcome=2&id=f", &shows).await;
}

#[tokio::test]
async fn next_page_continues_after_the_last_task() {
    let world = World::start(false).await;
    for n in 0..60 {
        world.put(&format!("t{n:02}"), TaskStatus::Pending, n, None);
    }
    let shows = [
        "t00",
        "t49",
        "Older tasks",
        "<label for=\"id\">Task id</label>",
    ];
    let first = world.page("tasks", &shows).await;
    assert!(!first.text.contains("t50"));
    let (_, next) = first.text.split_once("<p><a href=\"tasks").unwrap();
    let next = next.split_once('"').unwrap().0.replace("&amp;", "&");
    let second = world.page(&format!("tasks{next}"), &["t50", "t59"]).await;
    assert!(!second.text.contains("t49") && !second.text.contains("Older tasks"));
}

#[tokio::test]
async fn the_agents_page_shows_queues_pending_calls_and_agents() {
    let world = World::start(false).await;
    let shows = [
        "<td>Spanish, M</td><td>2</td>",
        "<td>Basque, F</td><td>3</td><td>no agent with these attributes was ever queued</td>",
        "<td>call-7</td><td>Basque, F</td><td>1m 1s</td>",
        "Ana Ruiz",
        "agents?after=ana",
    ];
    world.page("agents", &shows).await;
    let store = Arc::<MemoryStore>::default();
    let mut without = site(store.clone(), false);
    without.agents = Err("stack AgentQueue-dev does not exist".to_owned());
    let world = World::serve(store, without).await;
    let shows = ["stack AgentQueue-dev does not exist"];
    world.page("agents", &shows).await;
}

#[tokio::test]
async fn open_pages_share_a_sample_and_changes_refresh_it() {
    let site = site(Arc::<MemoryStore>::default(), true);
    for _ in 0..3 {
        assert_eq!(site.looks().await.looks(), 1, "the clock stands");
    }
    assert_eq!(site.note(Err(Failure::NoRegion)), 0);
    assert_eq!(site.looks().await.looks(), 2);
    assert_eq!(site.looks().await.looks(), 2);
    for number in 1..=50 {
        assert_eq!(site.note(Err(Failure::NoQueue)), number);
    }
    assert_eq!(site.outcome(0), None, "the oldest is forgotten");
    assert!(site.outcome(1).is_some() && site.outcome(50).is_some());
    assert_eq!(site.outcome(51), None);
}

#[tokio::test]
async fn console_shows_table_errors() {
    let store = Arc::<MemoryStore>::default();
    let broken = FaultyStore::new(store.clone(), |_| Some(Fault::LostRequest));
    let world = World::serve(store, site(Arc::new(broken), true)).await;
    let says = "The last sample failed: DynamoDB request failed";
    world.page("", &[says]).await;
    world
        .rejects("errors", 502, "DynamoDB request failed")
        .await;
    world.done("pause", "for=1h&reason=x").await;
    let says = ["class=\"outcome problem\"", "DynamoDB request failed"];
    world.page("?outcome=0", &says).await;
}

#[tokio::test(start_paused = true)]
async fn the_console_samples_without_an_open_page() {
    let site = site(Arc::<MemoryStore>::default(), false);
    let pace = Duration::from_secs(30);
    let minute = Duration::from_secs(60);
    let _elapsed = tokio::time::timeout(minute, site.read_on(pace)).await;
    // The test's clock does not advance, so later samples are never outdated.
    assert!(site.looks().await.last.is_some(), "sampled at the start");
}
