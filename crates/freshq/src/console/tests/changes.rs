//! Tests the pages that change the queue or one of its groups.

use super::*;

#[tokio::test]
async fn the_queue_is_paused_with_a_reason_and_resumed() {
    let world = World::start(true).await;
    world.put("order-1", TaskStatus::Pending, 3, None);
    let shows = ["<button type=\"submit\">Pause</button>"];
    world.page("pause", &shows).await;
    world.done("pause", "for=30m&reason=new+release").await;
    let control = world.store.control().await.unwrap();
    assert_eq!(control.pause_reason.as_deref(), Some("new release"));
    let says = "The queue is paused until 2027-01-15T08:30:00.000Z: new release (by user/ana at";
    let title = "<title>paused – Queue – LifoQueue-dev – freshq</title>";
    let starts = "<td>after the pause</td>";
    let shows = [says, "paused until 2027", "Resume…", title, starts];
    world.page("?outcome=0", &shows).await;
    let shows = [
        "End the pause of LifoQueue-dev (account 111122223333, eu-central-1)",
        "30m left: new release (by user/ana",
    ];
    world.page("resume", &shows).await;
    world.done("resume", "").await;
    let shows = ["resumed: a processor was notified"];
    world.page("?outcome=1", &shows).await;
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
        world.rejects(page, 400, says).await;
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
        world.done(page, form).await;
        let shows = ["class=\"outcome problem\"", says];
        world.page(&format!("?outcome={n}"), &shows).await;
    }
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
}

#[tokio::test]
async fn the_circuit_breaker_is_opened_and_closed_with_buttons() {
    let world = World::start(true).await;
    world.page("", &["Open the circuit breaker…"]).await;
    let form = "for=30m&reason=new+release";
    world.done("open", form).await;
    let title = "<title>breaker open – Queue";
    let shows = [
        "is open: an operator holds the circuit breaker open, so only probes start",
        "Close the circuit breaker…",
        title,
    ];
    world.page("?outcome=0", &shows).await;
    world.done("close", "").await;
    let shows = ["the circuit breaker is closed", "Open the circuit breaker…"];
    world.page("?outcome=1", &shows).await;
}

#[tokio::test]
async fn form_limits_starts_and_ends_the_limit() {
    let world = World::start(true).await;
    world.page("", &["Limit…"]).await;
    let form = "rate=0.5&concurrency=3&for=30m&reason=migration";
    world.done("limit", form).await;
    let text = "one start every 2s and 3 concurrent tasks until";
    let title = "<title>limited – Queue";
    let shows = [text, "End the limit…", title];
    world.page("?outcome=0", &shows).await;
    world.page("unlimit", &["End the limit of", text]).await;
    world.done("unlimit", "").await;
    let shows = ["the limit has ended", "<title>Queue"];
    world.page("?outcome=1", &shows).await;
    let wrong = [
        ("rate=&concurrency=&for=1h&reason=x", "rate: give it"),
        ("rate=0&for=1h&reason=x", "use freshq pause"),
        ("concurrency=0&for=1h&reason=x", "use freshq pause"),
        ("rate=5&for=1h", "reason: it must not be empty"),
    ];
    for (number, (form, says)) in (2..).zip(wrong) {
        world.done("limit", form).await;
        world.page(&format!("?outcome={number}"), &[says]).await;
    }
}

#[tokio::test]
async fn groups_are_shown_and_changed_one_by_one() {
    let world = World::start(true).await;
    world.put("acme/1", TaskStatus::Pending, 90, None);
    world.put("globex/1", TaskStatus::Failure, 30, Some("HTTP 500"));
    let shows = [
        "<a href=\"tasks?group=acme\">acme</a>",
        "<a class=\"button\" href=\"pause?group=acme\">Pause…</a>",
        "index entries read: 1, all pending and running tasks.",
    ];
    let page = world.page("groups", &shows).await;
    assert!(!page.text.contains("globex"), "it has failed tasks only");
    let shows = [
        "of group acme of LifoQueue-dev",
        "action=\"limit?group=acme\"",
    ];
    world.page("limit?group=acme", &shows).await;
    let form = "concurrency=3&rate=&for=30m&reason=theirs";
    let done = world.post("limit?group=acme", form).await;
    assert_eq!(done.header("location"), Some("groups?outcome=0"));
    world
        .done("pause?group=acme", "for=30m&reason=theirs")
        .await;
    let shows = [
        "paused until",
        "limited to 3 concurrent tasks",
        "Resume…",
        "End the limit…",
    ];
    world.page("groups", &shows).await;
    let shows = [
        "<dt>groups</dt><dd>paused: acme; limited: acme",
        "<title>Queue",
    ];
    world.page("", &shows).await;
    let shows = ["End the pause of group acme", "30m left: theirs (by"];
    world.page("resume?group=acme", &shows).await;
    let shows = ["End the limit of group acme", "3 concurrent tasks until"];
    world.page("unlimit?group=acme", &shows).await;
    let shows = ["it is not limited"];
    world.page("unlimit?group=globex", &shows).await;
    world.done("resume?group=acme", "").await;
    world.done("unlimit?group=acme", "").await;
    let shows = ["<td>not paused or limited</td>"];
    world.page("groups", &shows).await;

    let shows = ["globex/1", "Only tasks of group globex."];
    let page = "tasks?status=failure&group=globex";
    world.page(page, &shows).await;
    let shows = ["No such task was found."];
    world.page("tasks?status=failure&group=acme", &shows).await;
    world.rejects("tasks?group=a/b", 400, "contains").await;
}
