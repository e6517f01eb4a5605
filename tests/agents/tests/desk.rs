//! Sends every `agent-desk` command as clients do, and checks the shape of its response.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use agent_queue::desk::{Command, Desk};
use agents::world::World;
use serde_json::{Value as Json, json};

const NOW: &str = "2027-01-15T08:00:00.000000Z";
const LEASE_END: &str = "2027-01-15T08:10:00.000000Z";

struct Asked {
    world: World,
    desk: Desk,
}

impl Asked {
    fn new() -> Self {
        let world = World::on(agents::memory());
        let world = world.with(|settings| settings.call_lease = Some(Duration::from_secs(600)));
        let desk = Desk::new(
            world.queue.clone(),
            world.publisher.clone(),
            world.clock.clone(),
            true,
        );
        Self { world, desk }
    }

    async fn ask(&self, command: Json) -> Json {
        let dimensions = &self.world.queue.settings().dimensions;
        let command = Command::read(command, dimensions).unwrap();
        let (response, _) = self.desk.execute(command).await.unwrap();
        serde_json::to_value(response).unwrap()
    }

    /// Returns the response with masked tickets, which must be UUIDs.
    async fn shape(&self, command: Json) -> Json {
        let mut response = self.ask(command).await;
        mask(&mut response);
        response
    }
}

fn mask(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            if let Some(ticket) = fields.get_mut("ticket") {
                let text = ticket.as_str().unwrap();
                assert!(uuid::Uuid::parse_str(text).is_ok(), "{text}");
                *ticket = json!("…");
            }
            fields.values_mut().for_each(mask);
        }
        Json::Array(all) => all.iter_mut().for_each(mask),
        _ => {}
    }
}

/// Creates agent ana as in a desk response, with the attributes of this status.
fn ana(status: &str, state: Json) -> Json {
    let mut ana = json!({
        "agentId": "ana",
        "name": "Ana Ruiz",
        "attributes": {"language": ["English", "Spanish"], "gender": "F"},
        "status": status,
        "ticket": "…",
    });
    for (name, value) in state.as_object().unwrap() {
        ana[name] = value.clone();
    }
    ana
}

fn register() -> Json {
    json!({"command": "register", "agentId": "ana", "name": "Ana Ruiz",
           "attributes": {"language": ["Spanish", "English"], "gender": "F"}})
}

#[tokio::test(start_paused = true)]
async fn desk_executes_agent_commands() {
    let asked = Asked::new();
    let offline = json!({"changed": true, "agent": ana("offline", json!({}))});
    assert_eq!(asked.shape(register()).await, offline);
    let command = json!({"command": "available", "agentId": "ana"});
    let since = json!({"availableSince": NOW});
    let available = json!({"changed": true, "agent": ana("available", since.clone())});
    assert_eq!(asked.shape(command).await, available);

    let enqueue = json!({"command": "enqueue", "agentId": "ana"});
    let places = json!({"availableSince": NOW, "queuedAt": NOW});
    let queued = json!({"changed": true, "agent": ana("queued", places.clone())});
    assert_eq!(asked.shape(enqueue.clone()).await, queued);
    let rejected = "the agent is queued; nothing to do";
    let rejected =
        json!({"changed": false, "rejected": rejected, "agent": ana("queued", places.clone())});
    assert_eq!(asked.shape(enqueue).await, rejected);

    let leave = json!({"command": "leave", "agentId": "ana"});
    assert_eq!(asked.shape(leave).await, available, "by default");
    let leave = json!({"command": "leave", "agentId": "ana", "to": "offline"});
    assert_eq!(asked.shape(leave).await, offline);
    let available = json!({"command": "available", "agentId": "unknown"});
    let unknown = "no agent has this agentId; register it first";
    let unknown = json!({"changed": false, "rejected": unknown});
    assert_eq!(asked.shape(available).await, unknown);

    let mut fresh = register();
    fresh.as_object_mut().unwrap().remove("agentId");
    let given = asked.ask(fresh).await["agent"]["agentId"].clone();
    assert!(uuid::Uuid::parse_str(given.as_str().unwrap()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn desk_executes_call_commands() {
    let asked = Asked::new();
    let matching = |call: &str, criteria: &Json| json!({"command": "match", "callId": call, "criteria": criteria});
    let man = json!({"language": "Spanish", "gender": "M"});
    let pending = json!({"callId": "c1", "status": "pending"});
    assert_eq!(asked.shape(matching("c1", &man)).await, pending);
    let call = |id: &str| json!({"command": "call", "callId": id});
    let pending = |id: &str, criteria: &str| json!({"callId": id, "criteria": criteria, "arrivedAt": NOW, "pendingMs": 0});
    let shown = json!({"callId": "c1", "status": "pending", "pending": pending("c1", "Spanish#M")});
    assert_eq!(asked.shape(call("c1")).await, shown);
    let cancel = json!({"command": "cancel-call", "callId": "c1"});
    let cancelled = json!({"callId": "c1", "status": "cancelled"});
    assert_eq!(asked.shape(cancel).await, cancelled);
    assert_eq!(asked.shape(matching("c1", &man)).await, cancelled);
    let unknown = json!({"callId": "c0", "status": "unknown"});
    assert_eq!(asked.shape(call("c0")).await, unknown);

    // A call is pending, and a matching agent is queued.
    let any = json!({"language": "Spanish"});
    asked.ask(matching("c2", &any)).await;
    asked.ask(matching("c3", &man)).await;
    let both = json!({"calls": [pending("c2", "Spanish#*"), pending("c3", "Spanish#M")]});
    assert_eq!(asked.ask(json!({"command": "calls"})).await, both);
    let one = json!({"calls": [pending("c2", "Spanish#*")]});
    assert_eq!(
        asked.ask(json!({"command": "calls", "limit": 1})).await,
        one
    );
    let queues = asked.ask(json!({"command": "queues"})).await;
    let lines = json!([
        {"criteria": "Spanish#*", "depth": 1, "oldest": pending("c2", "Spanish#*")},
        {"criteria": "Spanish#M", "depth": 1, "oldest": pending("c3", "Spanish#M")},
    ]);
    assert_eq!(queues["pending"], lines);
    let cancel = json!({"command": "cancel-call", "callId": "c3"});
    asked.ask(cancel).await;
    asked.ask(register()).await;
    asked
        .ask(json!({"command": "available", "agentId": "ana"}))
        .await;
    let enqueue = json!({"command": "enqueue", "agentId": "ana"});
    let response = asked.ask(enqueue).await;
    let assignment = json!({
        "callId": "c2", "assignment": 1, "criteria": "Spanish#*", "agentId": "ana", "agentName": "Ana Ruiz",
        "ticket": response["agent"]["ticket"], "assignedAt": NOW, "leaseUntil": LEASE_END,
    });
    assert_eq!(response["changed"], true);
    assert_eq!(response["assignment"], assignment);
    let assigned = json!({"callId": "c2", "status": "assigned", "assignment": assignment});
    assert_eq!(asked.ask(call("c2")).await, assigned);
    assert_eq!(
        asked.ask(matching("c2", &any)).await,
        assigned,
        "redelivered"
    );

    let attending = json!({"callId": "c2", "leaseUntil": LEASE_END});
    let attending = json!({"agents": [ana("attendingCall", attending)]});
    let agents = json!({"command": "agents", "limit": 100});
    assert_eq!(asked.shape(agents).await, attending);
    let in_call = |command: &str| json!({"command": command, "agentId": "ana", "callId": "c2", "ticket": assignment["ticket"]});
    assert_eq!(asked.shape(in_call("extend")).await["changed"], true);
    let finish = in_call("finish");
    let since = json!({"availableSince": NOW});
    let available = json!({"changed": true, "agent": ana("available", since)});
    assert_eq!(asked.shape(finish.clone()).await, available);
    let again = asked.shape(finish).await;
    assert_eq!(again["changed"], false);
    assert!(
        again["rejected"]
            .as_str()
            .unwrap()
            .contains("callId and ticket")
    );
    let fresh = json!({"command": "match", "criteria": man});
    let fresh = asked.ask(fresh).await["callId"].clone();
    assert!(uuid::Uuid::parse_str(fresh.as_str().unwrap()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn desk_executes_seed_queue_all_and_list_commands() {
    let asked = Asked::new();
    let expires = json!({"command": "match", "callId": "old", "criteria": {"gender": "F"}});
    asked.ask(expires.clone()).await;
    asked.world.pass(Duration::from_secs(15 * 60)).await;
    let expired = json!({"callId": "old", "status": "expired"});
    assert_eq!(asked.shape(expires).await, expired);

    let seeded = asked.ask(json!({"command": "seed", "count": 5})).await;
    let seeded = seeded["agents"].as_array().unwrap().clone();
    assert_eq!(seeded.len(), 5);
    assert!(seeded.iter().all(|agent| agent["status"] == "available"));
    let man = json!({"language": "Spanish", "gender": "M"});
    let waits = json!({"command": "match", "callId": "c1", "criteria": man});
    asked.ask(waits).await;
    let all = asked.ask(json!({"command": "queue-all-available"})).await;
    assert_eq!(all["queued"], 5);
    let [assignment] = all["assignments"].as_array().unwrap().as_slice() else {
        panic!("{all}");
    };
    assert_eq!(assignment["callId"], "c1");

    let queue = |name: &str, depth: u64, version: u64| json!({"queue": format!("Q#{name}"), "depth": depth, "version": version});
    let pending = |criteria: &str| json!({"criteria": criteria, "depth": 0});
    let queues = json!({
        "queues": [
            queue("English#F", 2, 2), queue("English#M", 0, 2), queue("French#F", 2, 2),
            queue("French#M", 1, 1), queue("Spanish#F", 2, 2), queue("Spanish#M", 1, 3),
        ],
        "pending": [pending("*#F"), pending("Spanish#M")],
    });
    assert_eq!(asked.ask(json!({"command": "queues"})).await, queues);

    let mut ids: Vec<_> = seeded
        .iter()
        .map(|agent| agent["agentId"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    let page = json!({"command": "agents", "limit": 2, "after": ids[0]});
    let page = asked.ask(page).await;
    let listed: Vec<_> = page["agents"].as_array().unwrap().iter().collect();
    assert_eq!((listed.len(), &listed[0]["agentId"]), (2, &json!(ids[1])));
    assert_eq!(page["next"], ids[2]);
}
