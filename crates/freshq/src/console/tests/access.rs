//! Tests which requests the console accepts and which it rejects.

use super::*;

#[tokio::test]
async fn page_requires_the_token_of_this_console() {
    let world = World::start(true).await;
    let host = world.host();
    world.page("", &["LifoQueue-dev"]).await;
    let other = World::start(true).await.token;
    assert_eq!((world.token.len(), world.token == other), (32, false));
    let short = &world.token[..31];
    let longer = format!("{}0", world.token);
    let twice = format!("/{}", world.token);
    for token in ["", "x", &other, short, &longer, &twice, "%2e%2e"] {
        for page in ["", "console.css", "pause", "unknown"] {
            let head = format!("GET /{token}/{page} HTTP/1.1\r\nhost: {host}");
            let answer = world.send(&head, "").await;
            answer.expect(403, &["403: the address has no valid token"]);
            assert!(!answer.text.contains(&world.token));
        }
    }
    let bare = format!("GET / HTTP/1.1\r\nhost: {host}");
    world.send(&bare, "").await.expect(403, &["valid token"]);
}

#[tokio::test]
async fn foreign_host_is_rejected_and_forwarded_port_is_accepted() {
    let world = World::start(true).await;
    let port = world.port;
    let get = |target: String, headers: &str| format!("GET {target} HTTP/1.1{headers}");
    let path = format!("/{}/", world.token);
    for own in ["127.0.0.1", "localhost", "LOCALHOST:8080", "127.0.0.1:80"] {
        let head = get(path.clone(), &format!("\r\nhost: {own}"));
        world.send(&head, "").await.expect(200, &[]);
    }
    for foreign in [
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1@evil.example:{port}"),
        format!("evil.example@127.0.0.1:{port}"),
        "[::1]".to_owned(),
        "0.0.0.0".to_owned(),
        "127.0.0.1 evil.example".to_owned(),
        String::new(),
    ] {
        let head = get(path.clone(), &format!("\r\nhost: {foreign}"));
        let answer = world.send(&head, "").await;
        answer.expect(403, &["403: the Host header is not"]);
    }
    let own = format!("127.0.0.1:{port}");
    let twice = get(path.clone(), &format!("\r\nhost: {own}\r\nhost: {own}"));
    world.send(&twice, "").await.expect(403, &["Host"]);
    world
        .send(&get(path.clone(), ""), "")
        .await
        .expect(403, &["Host"]);
    let absolute = get(
        format!("http://evil.example{path}"),
        &format!("\r\nhost: {own}"),
    );
    world.send(&absolute, "").await.expect(403, &["Host"]);
}

#[tokio::test]
async fn foreign_origin_is_rejected_and_changes_require_the_console_origin() {
    let world = World::start(true).await;
    world.put("a", TaskStatus::Pending, 1, None);
    let (token, host) = (&world.token, world.host());
    let send = async |method: &str, origin: &str| {
        let form = "content-type: application/x-www-form-urlencoded";
        let head =
            format!("{method} /{token}/cancel?task=a HTTP/1.1\r\nhost: {host}\r\n{form}{origin}");
        world.send(&head, "task=a").await
    };
    let foreign = [
        "\r\norigin: http://evil.example".to_owned(),
        "\r\norigin: null".to_owned(),
        "\r\norigin:".to_owned(),
        format!("\r\norigin: https://{host}"),
        format!("\r\norigin: http://{host}.evil.example"),
        "\r\norigin: http://127.0.0.1:1".to_owned(),
        format!("\r\norigin: http://{host}\r\norigin: http://{host}"),
    ];
    for origin in &foreign {
        for method in ["GET", "POST"] {
            let answer = send(method, origin).await;
            answer.expect(403, &["403: another web page sent this request"]);
        }
    }
    send("POST", "").await.expect(403, &["another web page"]);
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    let own = format!("\r\norigin: http://{host}");
    send("GET", &own)
        .await
        .expect(200, &["Delete the pending task a"]);
    send("POST", &own).await.expect(303, &[]);
    assert_eq!(world.status("a"), None);
}

#[tokio::test]
async fn read_only_console_offers_and_makes_no_changes() {
    let world = World::start(false).await;
    world.put("p", TaskStatus::Pending, 1, None);
    world.put("f", TaskStatus::Failure, 1, Some("HTTP 500"));
    for page in [
        "",
        "tasks?status=failure&error=500",
        "errors",
        "task?id=p",
        "task?id=f",
    ] {
        let answer = world.page(page, &["read-only"]).await;
        for change in ["Pause…", "Redrive", "Cancel…", "method=\"post\""] {
            assert!(!answer.text.contains(change), "{change} on {page}");
        }
    }
    for (page, form) in [
        ("pause", "for=1h&reason=x"),
        ("resume", ""),
        ("redrive", "all=1&ttl=1h"),
        ("cancel", "task=p"),
    ] {
        let says = ["403: this console is read-only: start freshq console with --allow-changes"];
        world.get(page).await.expect(403, &says);
        world.post(page, form).await.expect(403, &says);
    }
    let states = ["p", "f"].map(|id| world.status(id).unwrap());
    assert_eq!(states, [TaskStatus::Pending, TaskStatus::Failure]);
    assert_eq!(world.store.control().await.unwrap().paused_until, None);
}

#[tokio::test]
async fn other_methods_and_unknown_pages_are_rejected() {
    let world = World::start(true).await;
    let (token, host) = (&world.token, world.host());
    for method in ["PUT", "DELETE", "OPTIONS", "PATCH"] {
        let head = format!("{method} /{token}/ HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}");
        world.send(&head, "").await.expect(405, &[]);
    }
    let says = "there is no page purge";
    world.rejects("purge", 404, says).await;
    world.post("purge", "").await.expect(404, &[says]);
    world.rejects("a/b", 404, "").await;
}

#[tokio::test]
async fn every_console_response_has_security_headers() {
    let world = World::start(true).await;
    let rejected = format!("GET / HTTP/1.1\r\nhost: {}", world.host());
    for answer in [
        world.get("").await,
        world.get("console.js").await,
        world.get("a/b").await,
        world.post("pause", "").await,
        world.send(&rejected, "").await,
    ] {
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let policy = answer.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    let page = world.get("").await.text;
    assert!(
        !page.contains("style=\"") && !page.contains("<script>"),
        "{page}"
    );
    assert_eq!(
        world.get("console.css").await.header("content-type"),
        Some("text/css")
    );
    assert_eq!(
        world.get("console.js").await.header("content-type"),
        Some("text/javascript")
    );
}
