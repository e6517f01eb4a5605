//! Agents in the partition of earlier releases are found, changed and listed like all others, and the
//! sweep moves them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::{AgentStatus, IdleStatus};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::dimension::Dimensions;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::store::{AgentStore, Committed};
use agent_queue::transaction::{Change, agent_key};
use agents::partitions::{items, to_former};
use agents::world::{Still, World};
use agents::{agent_id, embedded};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use simulator::agents::embedded::Embedded;
use simulator::conflicts::{Conflicts, Latency};
use simulator::dynamodb::AGENT_TABLE;

async fn world() -> (World, Client) {
    let still = Still::hold();
    let client = embedded().await.client;
    let store = DynamoStore::new(client.clone(), AGENT_TABLE, Dimensions::default());
    let world = World::on(Arc::new(store));
    drop(still);
    (world, client)
}

#[tokio::test(start_paused = true)]
async fn agents_of_an_earlier_release_take_every_transition() {
    let (world, client) = world().await;
    let world = world.with(|settings| settings.answer_within = Some(Duration::from_secs(60)));
    let former = async || to_former(&client, ["ana", "bea"]).await;
    for id in ["ana", "bea"] {
        world.register(id, &["English", "Spanish"], "F").await;
        former().await;
        let available = world.queue.become_available(&agent_id(id)).await.unwrap();
        assert!(matches!(available, Changed::Done(_)), "{available:?}");
        world.enqueue(id).await;
    }
    assert_eq!(world.ask_whom("c1", "Spanish#F").await, "ana");
    let made = world.ask("c2", "English#F").await.assignments;
    assert_eq!(made[0].agent_id, agent_id("bea"));
    let (id, call) = (agent_id("bea"), made[0].call_id.clone());
    let extended = world.queue.extend(&id, &call, made[0].ticket).await;
    assert!(matches!(extended.unwrap(), Changed::Done(_)));
    let finished = world.finish("bea", "c2", made[0].ticket).await;
    assert!(matches!(finished, Changed::Done(_)), "{finished:?}");

    // No process published the assignment of c1, so the sweep undoes it.
    world.publisher.fail();
    world.pass(Duration::from_secs(61)).await;
    let swept = world.queue.sweep(&*world.publisher).await.unwrap();
    assert_eq!(swept.undone, 1);
    world.publisher.fail_for(&[]);
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    world.pass(Duration::from_secs(6)).await;
    assert_eq!(world.sweep().await.published, 2);
    world.pass(Duration::from_secs(61)).await;
    assert_eq!(world.sweep().await.returned, 1, "the lease expired");
    for id in ["ana", "bea"] {
        let left = world.queue.leave(&agent_id(id), IdleStatus::Offline).await;
        assert!(matches!(left.unwrap(), Changed::Done(_)));
    }
    assert_eq!(world.status("ana").await, AgentStatus::Offline);
    assert_eq!(items(&client, "A").await, 2);
    let queues = world.queue.queues().await.unwrap();
    let versions: Vec<_> = queues.iter().map(|is| (is.depth, is.version)).collect();
    assert_eq!(versions, [(0, 6), (0, 6)], "three joins and departures");
}

#[tokio::test(start_paused = true)]
async fn agent_of_an_earlier_release_is_not_registered_twice() {
    let (world, client) = world().await;
    world.register("ana", &["Spanish"], "F").await;
    to_former(&client, ["ana"]).await;
    let again = agents::agent("ana", &["English"], "M");
    let register = Change::register(again, vec![]);
    let committed = world.store.commit(&register).await.unwrap();
    assert!(matches!(committed, Committed::Refused(_)), "{committed:?}");
    world.register("ana", &["English"], "M").await;
    assert_eq!(items(&client, "A").await, 1);
    let profile = world.agent("ana").await.profile;
    assert_eq!(profile, agents::profile(&["English"], "M"));
}

#[tokio::test(start_paused = true)]
async fn agents_of_all_releases_are_listed_by_id() {
    let (world, client) = world().await;
    let ids: Vec<_> = (0..30).map(|number| format!("a{number:02}")).collect();
    for id in &ids {
        world.queued(id, &["Spanish"], "F").await;
    }
    let every_third: Vec<_> = ids.iter().step_by(3).map(String::as_str).collect();
    to_former(&client, every_third).await;
    for limit in [1, 7, 29, 30, 100] {
        let (mut seen, mut after) = (vec![], None);
        loop {
            let page = world.store.agents(after.as_ref(), limit).await.unwrap();
            assert!(page.agents.len() <= usize::from(limit));
            seen.extend(page.agents.into_iter().map(|agent| agent.id.to_string()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, ids, "pages of {limit}");
    }
    assert_eq!(world.store.all_agents().await.unwrap().len(), 30);
    assert_eq!(world.sweep().await.queued_agents, 30);
    assert_eq!(items(&client, "AllAgents").await, 0);
    assert_eq!(items(&client, "Agents#").await, 30);
}

#[tokio::test(start_paused = true)]
async fn agent_in_both_partitions_keeps_no_other_from_moving() {
    let (world, client) = world().await;
    for id in ["ana", "bea", "cleo"] {
        world.available(id, &["Spanish"], "F").await;
        to_former(&client, [id]).await;
    }
    let copy = client.put_item().table_name(AGENT_TABLE);
    let (pk, sk) = agent_key(&agent_id("bea"));
    let copy = copy.item("pk", AttributeValue::S(pk));
    let copy = copy.item("sk", AttributeValue::S(sk));
    copy.send().await.unwrap();
    assert_eq!(world.store.adopt().await.unwrap(), 2);
    assert_eq!(items(&client, "AllAgents").await, 1);
    for id in ["ana", "cleo"] {
        assert_eq!(world.status(id).await, AgentStatus::Available);
    }
}

/// The agent changes after the sweep has read it and before the sweep's transaction.
#[tokio::test(start_paused = true)]
async fn agent_that_changes_while_it_moves_keeps_the_change() {
    let embedded = Embedded::start().unwrap();
    let client_with = |transaction| {
        let plain = Duration::ZERO;
        Conflicts::new(Latency { plain, transaction }).client_of(&embedded)
    };
    let store_of = |client| DynamoStore::new(client, AGENT_TABLE, Dimensions::default());
    let client = client_with(Duration::ZERO);
    let store = store_of(client.clone());
    let slow = store_of(client_with(Duration::from_secs(1)));
    agents::register(&store, &agents::agent("ana", &["Spanish"], "F")).await;
    to_former(&client, ["ana"]).await;
    let ana = async || store.agent(&agent_id("ana")).await.unwrap().unwrap();
    let change = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let change = ana().await.become_available(agents::NOW).unwrap();
        agents::done(&store, &Change::agent(change, None)).await;
    };
    let (moved, ()) = tokio::join!(slow.adopt(), change);
    assert_eq!(moved.unwrap(), 0);
    assert_eq!(ana().await.state.status(), AgentStatus::Available);
    assert_eq!(store.adopt().await.unwrap(), 1, "the next sweep moves it");
    assert_eq!(ana().await.state.status(), AgentStatus::Available);
}
