//! The pages that change the queue or one of its groups.

use super::*;

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
    let question = world.get("resume?group=acme").await;
    question.expect(
        200,
        &["End the pause of group acme", "30m left: theirs (by"],
    );
    let question = world.get("unlimit?group=acme").await;
    question.expect(
        200,
        &["End the limit of group acme", "3 tasks at once until"],
    );
    let question = world.get("unlimit?group=globex").await;
    question.expect(200, &["it is not limited"]);
    world.post("resume?group=acme", "").await.expect(303, &[]);
    world.post("unlimit?group=acme", "").await.expect(303, &[]);
    let page = world.get("groups").await;
    page.expect(200, &["<td>not paused or limited</td>"]);

    let tasks = world.get("tasks?status=failure&group=globex").await;
    tasks.expect(200, &["globex/1", "Only tasks of group globex."]);
    let none = world.get("tasks?status=failure&group=acme").await;
    none.expect(200, &["No such task was found."]);
    world
        .get("tasks?group=a/b")
        .await
        .expect(400, &["contains"]);
}
