//! Tests the content of the pages, and the changes that they make.

use simulator::faulty::{Fault, FaultyStore};

use super::*;

#[tokio::test]
async fn the_first_page_shows_state_charts_running_and_pending_tasks() {
    let world = World::start(true).await;
    for n in 0..12 {
        world.put(&format!("order-{n:02}"), TaskStatus::Pending, 3 * n, None);
    }
    world.put("runs", TaskStatus::Taken, 20, None);
    world.put("failed", TaskStatus::Failure, 20, Some("HTTP 500"));
    let page = world.get("").await;
    page.expect(
        200,
        &[
            "<title>Queue – LifoQueue-dev – freshq</title>",
            "<span>LifoQueue-dev in account 111122223333, eu-central-1</span>",
            "<dt>PENDING</dt><dd>12</dd>",
            "<dt>circuit breaker</dt><dd>closed</dd>",
            "<dt>oldest PENDING</dt><dd>33s, created 2027-01-15T07:59:27.000Z</dd>",
            "<a href=\"task?id=runs\">runs</a>",
            "order-00",
            "order-11",
            "Created per second: <strong>0.2</strong>",
            "Succeeded per second: <strong>0.0</strong>",
            "Median run time in seconds: <strong>not measured yet</strong>",
            "changes allowed",
            "<a class=\"button\" href=\"pause\">Pause…</a>",
        ],
    );
    assert_eq!(page.text.matches("<svg").count(), 6);
    assert!(!page.text.contains("Resume…"), "the queue is not paused");
}

#[tokio::test]
async fn console_escapes_task_text() {
    let world = World::start(true).await;
    let (id, error) = ("<b>&\"x", "<script>alert('x')</script>");
    world.put(id, TaskStatus::Failure, 1, Some(error));
    for page in ["failures", "tasks?status=failure", "task?id=%3Cb%3E%26%22x"] {
        let answer = world.get(page).await;
        answer.expect(200, &["&lt;script&gt;alert('x')", "&lt;b&gt;&amp;"]);
        assert!(
            !answer.text.contains("<script>") && !answer.text.contains("<b>"),
            "{page}"
        );
    }
    let listed = world.get("tasks?status=failure").await;
    listed.expect(200, &["href=\"task?id=%3Cb%3E%26%22x\""]);
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
    let page = world.get("failures").await;
    page.expect(
        200,
        &[
            "running tasks read: 4, different last errors: 3.",
            "<h2>No error was recorded</h2>",
            "Tasks: <strong>2</strong>",
            "&quot;order&quot;: &quot;a&quot;",
            "deleted by DynamoDB",
            "href=\"redrive?error=HTTP%20502%3A%20job%20%3Cn%3E%20is%20lost\"",
            "<h2>HTTP 502: job &lt;n&gt; is lost</h2>",
            "(FAILURE 2)",
        ],
    );
    let place = |text| page.text.find(text).unwrap();
    assert!(
        place("<h2>HTTP 502") < place("<h2>HTTP 400"),
        "the largest first"
    );

    let pattern = "redrive?error=HTTP%20502%3A%20job%20%3Cn%3E%20is%20lost";
    let question = world.get(pattern).await;
    question.expect(
        200,
        &[
            "all failed tasks with &quot;HTTP 502: job &lt;n&gt; is lost&quot;",
            "tasks to redrive: 2",
        ],
    );
    question.expect(200, &[&format!("action=\"{pattern}\"")]);
    assert_eq!(world.status("a"), Some(TaskStatus::Failure), "only asked");
    let done = world.post(pattern, "ttl=2h").await;
    done.expect(303, &[]);
    assert_eq!(done.header("location"), Some("failures?outcome=0"));
    let page = world.get("failures?outcome=0").await;
    page.expect(
        200,
        &[
            "redriven: 2; a processor was notified",
            "running tasks read: 4",
        ],
    );
    let states = ["a", "b", "c"].map(|id| world.status(id).unwrap());
    let (pending, failure) = (TaskStatus::Pending, TaskStatus::Failure);
    assert_eq!(states, [pending, failure, pending]);
    world
        .get("redrive?all=1")
        .await
        .expect(200, &["tasks to redrive: 2"]);
    world.post("redrive", "all=1&ttl=1h").await.expect(303, &[]);
    assert_eq!(world.status("d"), Some(pending));
}

#[tokio::test]
async fn redrive_by_error_matches_multiline_errors() {
    let world = World::start(true).await;
    world.put("a", TaskStatus::Failure, 1, Some("no answer\nafter 1 s"));
    let page = world.get("failures").await;
    page.expect(200, &["redrive?error=no%20answer%0Aafter%20%3Cn%3E%20s"]);
    let question = world.get("redrive?error=no%20answer%0Aafter%201%20s").await;
    let action = "redrive?error=no%20answer%0Aafter%201%20s";
    question.expect(
        200,
        &["tasks to redrive: 1", &format!("action=\"{action}\"")],
    );
    world.post(action, "ttl=1h").await.expect(303, &[]);
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
}

#[tokio::test]
async fn task_page_offers_cancel_or_redrive_by_status() {
    let world = World::start(true).await;
    world.put("p", TaskStatus::Pending, 90, None);
    world.put("f", TaskStatus::Failure, 90, Some("HTTP 500"));
    let page = world.get("task?id=p").await;
    let shows = [
        "<dt>taskStatus</dt><dd>PENDING</dd>",
        "1m 30s ago): created",
        "cancel?task=p",
    ];
    page.expect(200, &shows);
    assert!(!page.text.contains("Redrive…"));
    let cancelled = world.post("cancel", "task=p").await;
    assert_eq!(cancelled.header("location"), Some("./?outcome=0"));
    world.get("?outcome=0").await.expect(200, &["p  cancelled"]);
    world
        .get("task?id=p")
        .await
        .expect(200, &["task p does not exist"]);
    world
        .get("task?id=f")
        .await
        .expect(200, &["redrive?task=f"]);
    world.get("redrive?task=f").await.expect(
        200,
        &["Retry task f of LifoQueue-dev (account 111122223333, eu-central-1)"],
    );
    let redriven = world.post("redrive", "task=f&ttl=1h").await;
    assert_eq!(redriven.header("location"), Some("task?outcome=1&id=f"));
    assert_eq!(world.status("f"), Some(TaskStatus::Pending));
    let again = world.post("redrive", "task=f&ttl=1h").await;
    assert_eq!(again.header("location"), Some("task?outcome=2&id=f"));
    let page = world.get("task?outcome=2&id=f").await;
    page.expect(200, &["outcome problem", "f  not redriven: it is PENDING"]);
}

#[tokio::test]
async fn the_queue_is_paused_with_a_reason_and_resumed() {
    let world = World::start(true).await;
    world.put("order-1", TaskStatus::Pending, 3, None);
    world
        .get("pause")
        .await
        .expect(200, &["<button type=\"submit\">Pause</button>"]);
    world
        .post("pause", "for=30m&reason=new+release")
        .await
        .expect(303, &[]);
    let control = world.store.control().await.unwrap();
    assert_eq!(control.pause_reason.as_deref(), Some("new release"));
    let page = world.get("?outcome=0").await;
    let says = "The queue is paused until 2027-01-15T08:30:00.000Z: new release (by user/ana at";
    let title = "<title>paused – Queue – LifoQueue-dev – freshq</title>";
    let starts = "<td>after the pause</td>";
    page.expect(200, &[says, "paused until 2027", "Resume…", title, starts]);
    world.get("resume").await.expect(
        200,
        &[
            "End the pause of LifoQueue-dev (account 111122223333, eu-central-1)",
            "30m left: new release (by user/ana",
        ],
    );
    world.post("resume", "").await.expect(303, &[]);
    world
        .get("?outcome=1")
        .await
        .expect(200, &["resumed: a processor was notified"]);
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
}

#[tokio::test]
async fn malformed_fields_are_named_and_change_nothing() {
    let world = World::start(true).await;
    for (page, says) in [
        (
            "tasks?status=done",
            "status: &quot;done&quot; is not pending",
        ),
        (
            "tasks?after=x",
            "after: &quot;x&quot; is not a place in the list",
        ),
        ("task", "id: it"),
        ("task?id=%23processor", "reserved for the queue"),
        ("cancel?task=%23processor", "reserved for the queue"),
        ("redrive", "error: it must not be empty"),
    ] {
        world.get(page).await.expect(400, &[says]);
    }
    for (n, (page, form, says)) in [
        ("pause", "for=30m&reason=+", "reason: it must not be empty"),
        ("pause", "for=soon&reason=x", "for: "),
        ("redrive", "all=1", "ttl: it must not be empty"),
        ("redrive", "ttl=1h", "error: it must not be empty"),
        ("cancel", "", "task: it"),
    ]
    .into_iter()
    .enumerate()
    {
        world.post(page, form).await.expect(303, &[]);
        let shown = world.get(&format!("?outcome={n}")).await;
        shown.expect(200, &["class=\"outcome problem\"", says]);
    }
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
}

#[tokio::test]
async fn next_page_continues_after_the_last_task() {
    let world = World::start(false).await;
    for n in 0..60 {
        world.put(&format!("t{n:02}"), TaskStatus::Pending, n, None);
    }
    let first = world.get("tasks").await;
    first.expect(
        200,
        &[
            "t00",
            "t49",
            "Older tasks",
            "<label for=\"id\">Task id</label>",
        ],
    );
    assert!(!first.text.contains("t50"));
    let (_, next) = first.text.split_once("<p><a href=\"tasks").unwrap();
    let next = next.split_once('"').unwrap().0.replace("&amp;", "&");
    let second = world.get(&format!("tasks{next}")).await;
    second.expect(200, &["t50", "t59"]);
    assert!(!second.text.contains("t49") && !second.text.contains("Older tasks"));
}

#[tokio::test]
async fn the_agents_page_shows_queues_pending_calls_and_agents() {
    let world = World::start(false).await;
    let page = world.get("agents").await;
    let shows = [
        "<td>Spanish, M</td><td>2</td>",
        "<td>Basque, F</td><td>3</td><td>no agent with these attributes was ever queued</td>",
        "<td>call-7</td><td>Basque, F</td><td>1m 1s</td>",
        "Ana Ruiz",
        "agents?after=ana",
    ];
    page.expect(200, &shows);
    let store = Arc::<MemoryStore>::default();
    let mut without = site(store.clone(), false);
    without.desk = Err("there is no stack AgentQueue-dev".to_owned());
    let world = World::serve(store, without).await;
    world
        .get("agents")
        .await
        .expect(200, &["there is no stack AgentQueue-dev"]);
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
    let broken = FaultyStore::new(store.clone(), |_| Fault::LostRequest);
    let world = World::serve(store, site(Arc::new(broken), true)).await;
    let says = "The last sample failed: DynamoDB request failed";
    world.get("").await.expect(200, &[says]);
    world
        .get("failures")
        .await
        .expect(502, &["DynamoDB request failed"]);
    world
        .post("pause", "for=1h&reason=x")
        .await
        .expect(303, &[]);
    let says = ["class=\"outcome problem\"", "DynamoDB request failed"];
    world.get("?outcome=0").await.expect(200, &says);
}

#[tokio::test]
async fn the_circuit_breaker_is_opened_and_closed_with_buttons() {
    let world = World::start(true).await;
    let first = world.get("").await;
    first.expect(200, &["Open the circuit breaker…"]);
    let form = "for=30m&reason=new+release";
    world.post("open", form).await.expect(303, &[]);
    let page = world.get("?outcome=0").await;
    let title = "<title>breaker open – Queue";
    page.expect(
        200,
        &["only probes start", "Close the circuit breaker…", title],
    );
    world.post("close", "").await.expect(303, &[]);
    let page = world.get("?outcome=1").await;
    page.expect(
        200,
        &["the circuit breaker is closed", "Open the circuit breaker…"],
    );
}

#[tokio::test]
async fn starts_are_limited_with_a_form_and_the_limit_is_ended() {
    let world = World::start(true).await;
    world.get("").await.expect(200, &["Limit…"]);
    let form = "rate=0.5&concurrency=3&for=30m&reason=migration";
    world.post("limit", form).await.expect(303, &[]);
    let text = "one start every 2s and 3 tasks at once until";
    let title = "<title>limited – Queue";
    let page = world.get("?outcome=0").await;
    page.expect(200, &[text, "End the limit…", title]);
    let page = world.get("unlimit").await;
    page.expect(200, &["End the limit of", text]);
    world.post("unlimit", "").await.expect(303, &[]);
    let page = world.get("?outcome=1").await;
    page.expect(200, &["the limit is ended", "<title>Queue"]);
    let wrong = [
        ("rate=&concurrency=&for=1h&reason=x", "rate: give it"),
        ("rate=0&for=1h&reason=x", "use freshq pause"),
        ("concurrency=0&for=1h&reason=x", "use freshq pause"),
        ("rate=5&for=1h", "reason: it must not be empty"),
    ];
    for (number, (form, says)) in (2..).zip(wrong) {
        world.post("limit", form).await.expect(303, &[]);
        let page = world.get(&format!("?outcome={number}")).await;
        page.expect(200, &[says]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_console_samples_without_an_open_page() {
    let site = site(Arc::<MemoryStore>::default(), false);
    let pace = Duration::from_secs(30);
    let minute = Duration::from_secs(60);
    let _elapsed = tokio::time::timeout(minute, site.read_on(pace)).await;
    // The clock of the test stands, so that later samples are fresh.
    assert!(site.looks().await.last.is_some(), "sampled at the start");
}

#[tokio::test]
async fn groups_are_shown_and_changed_one_by_one() {
    let world = World::start(true).await;
    world.put("acme/1", TaskStatus::Pending, 90, None);
    world.put("globex/1", TaskStatus::Failure, 30, Some("HTTP 500"));
    let page = world.get("groups").await;
    page.expect(
        200,
        &[
            "<a href=\"tasks?group=acme\">acme</a>",
            "<a class=\"button\" href=\"pause?group=acme\">Pause…</a>",
            "entries of the index read: 1, all pending and running tasks.",
        ],
    );
    assert!(!page.text.contains("globex"), "it has failed tasks only");
    let question = world.get("limit?group=acme").await;
    question.expect(
        200,
        &[
            "of group acme of LifoQueue-dev",
            "action=\"limit?group=acme\"",
        ],
    );
    let form = "concurrency=3&rate=&for=30m&reason=theirs";
    let done = world.post("limit?group=acme", form).await;
    assert_eq!(done.header("location"), Some("groups?outcome=0"));
    let done = world
        .post("pause?group=acme", "for=30m&reason=theirs")
        .await;
    done.expect(303, &[]);
    let page = world.get("groups").await;
    page.expect(
        200,
        &[
            "paused until",
            "limited to 3 tasks at once",
            "Resume…",
            "End the limit…",
        ],
    );
    let first = world.get("").await;
    first.expect(
        200,
        &[
            "<dt>groups</dt><dd>paused: acme; limited: acme",
            "<title>Queue",
        ],
    );
    world.post("resume?group=acme", "").await.expect(303, &[]);
    world.post("unlimit?group=acme", "").await.expect(303, &[]);
    let page = world.get("groups").await;
    page.expect(200, &["<td>starts tasks</td>"]);

    let tasks = world.get("tasks?status=failure&group=globex").await;
    tasks.expect(200, &["globex/1", "Only tasks of group globex."]);
    let none = world.get("tasks?status=failure&group=acme").await;
    none.expect(200, &["No such task was found."]);
    world
        .get("tasks?group=a/b")
        .await
        .expect(400, &["contains"]);
}
