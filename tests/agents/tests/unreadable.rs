//! The queue skips unreadable items that were edited by hand or written by another program.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::AgentStatus;
use agent_queue::call::CallState;
use agent_queue::matching::lane::Batch;
use agent_queue::schema::STRIPES;
use agent_queue::transaction::{agent_key, striped};
use agents::world::{World, pairs};
use agents::{agent_id, embedded, store_of};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use simulator::dynamodb::AGENT_TABLE;

/// Writes items that have a key but no other attribute and come first in their partition.
async fn spoil(client: &Client, partition: &str, count: u32) {
    for number in 0..count {
        let text = |text: String| AttributeValue::S(text);
        let put = client.put_item().table_name(AGENT_TABLE);
        let put = put.item("pk", text(partition.to_owned()));
        let put = put.item("sk", text(format!("0000-{number}")));
        put.send().await.unwrap();
    }
}

fn world() -> (World, Client) {
    let client = embedded();
    (World::on(Arc::new(store_of(client.clone()))), client)
}

async fn damage(client: &Client, pk: &str, sk: &str, attributes: &str) {
    let update = client.update_item().table_name(AGENT_TABLE);
    let update = update.key("pk", AttributeValue::S(pk.to_owned()));
    let update = update.key("sk", AttributeValue::S(sk.to_owned()));
    let update = update.update_expression(format!("REMOVE {attributes}"));
    update.send().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unreadable_items_do_not_hide_later_items() {
    let (world, client) = world();
    let stripes = ["Leases", "Outbox"].into_iter();
    let stripes = stripes.flat_map(|name| (0..STRIPES).map(move |n| striped(name, n)));
    let lines = ["Q#Spanish#F", "C#Spanish#F"].map(str::to_owned);
    for partition in lines.into_iter().chain(stripes) {
        spoil(&client, &partition, 7).await;
    }
    world.queued("ana", &["Spanish"], "F").await;
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "ana");
    world.ask("c2", "Spanish#F").await;
    let met = world.queued("bea", &["Spanish"], "F").await;
    assert_eq!(pairs(&met), "c2→bea");
    world.pass(Duration::from_secs(5)).await;
    assert_eq!(world.sweep().await.published, 2);
}

#[tokio::test(start_paused = true)]
async fn unreadable_agent_does_not_block_its_queue() {
    let (world, client) = world();
    world.queued("ana", &["Spanish"], "F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let (pk, sk) = agent_key(&agent_id("ana"));
    damage(&client, &pk, &sk, "AgentStatus, Languages").await;
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "bea");
    let asked = world.ask("c2", "Spanish#F").await;
    assert_eq!(asked.state, CallState::Pending);
}

/// The first call of a line is unreadable. An enqueue, a match or a sweep deletes its line entry
/// and assigns the next call.
#[tokio::test(start_paused = true)]
async fn unreadable_call_at_the_head_of_a_line_does_not_block_the_line() {
    for by in ["enqueue", "match", "sweep"] {
        let (world, client) = world();
        world.ask("c1", "Spanish#F").await;
        world.ask("c2", "Spanish#F").await;
        damage(&client, "Call#c1", "Call", "CallStatus").await;
        let ana = agents::agent("ana", &["Spanish"], "F");
        let ana = agents::available(&*world.store, ana).await;
        if by == "enqueue" {
            assert_eq!(pairs(&world.enqueue("ana").await.assignments), "c2→ana");
        } else {
            agents::enqueue(&*world.store, ana, 9).await;
        }
        if by == "match" {
            let met = world.ask("c3", "Spanish#F").await;
            assert_eq!(pairs(&met.assignments), "c2→ana");
        }
        let swept = world.sweep().await;
        assert!(swept.complete, "{by}");
        assert_eq!(world.in_call("ana").await.as_deref(), Some("c2"), "{by}");
        let left = u64::from(by == "match");
        assert_eq!(swept.pending_calls, left, "{by}: the place is deleted");
    }
}

#[tokio::test(start_paused = true)]
async fn overdue_unreadable_call_does_not_block_expiry() {
    let (world, client) = world();
    world.ask("c1", "Spanish#F").await;
    world.ask("c2", "Spanish#F").await;
    damage(&client, "Call#c1", "Call", "CallStatus").await;
    world.pass(world.queue.settings().max_wait).await;
    let swept = world.sweep().await;
    assert_eq!((swept.expired, swept.pending_calls), (1, 0));
    assert!(swept.complete);
}

/// The lane still assigns its other call.
#[tokio::test(start_paused = true)]
async fn redelivered_unreadable_call_does_not_stop_its_lane() {
    for agents in [1, 20] {
        let (world, client) = world();
        let calls = ["c1", "c2"].map(|id| world.call(id, "Spanish#F"));
        world.ask("c1", "Spanish#F").await;
        world.queue.cancel(&calls[0].id).await.unwrap();
        damage(&client, "Call#c1", "Call", "CallStatus").await;
        for number in 0..agents {
            world
                .queued(&format!("a{number:02}"), &["Spanish"], "F")
                .await;
        }
        let results = world.queue.match_lane(&calls, &Batch::default()).await;
        let states: Vec<_> = results.into_iter().map(|is| is.unwrap().state).collect();
        assert_eq!(states[0], CallState::Unreadable);
        assert!(matches!(states[1], CallState::Assigned(_)), "{states:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sweep_returns_the_agent_of_an_unreadable_unanswered_call() {
    let (world, client) = world();
    let world = world.with(|settings| settings.answer_within = Some(Duration::from_secs(10)));
    world.queued("ana", &["Spanish"], "F").await;
    let made = world.ask("c1", "Spanish#F").await.assignments;
    world.publish(&made).await;
    damage(&client, "Call#c1", "Call", "CallStatus").await;
    world.pass(Duration::from_secs(11)).await;
    let swept = world.sweep().await;
    assert_eq!((swept.returned, swept.calls_returned), (1, 0));
    assert!(swept.complete);
    assert_eq!(world.status("ana").await, AgentStatus::Available);
}

/// The agent's other entry is still matched, and the assigned agent leaves both queues.
#[tokio::test(start_paused = true)]
async fn unreadable_entry_of_a_queued_agent_does_not_block_calls() {
    let (world, client) = world();
    world.queued("ana", &["English", "Spanish"], "F").await;
    world.queued("bea", &["Spanish"], "F").await;
    let entry = agents::entries(&world.agent("ana").await).remove(1);
    let place = format!("{}#{}", entry.at, entry.agent);
    damage(&client, entry.queue.as_str(), &place, "Ticket, Queues").await;
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "bea");
    assert!(world.sweep().await.complete);
    assert_eq!(world.ask_whom("c2", "English#F").await, "ana");
    assert_eq!(
        world.depths().await,
        [("English#F", 0), ("Spanish#F", 0)].map(|(q, n)| (q.to_owned(), n))
    );
}
