//! The published walk-through: a pool of five agents, six queues, one call.

use std::collections::BTreeMap;

use agent_queue::desk::{Command, Desk};
use agents::world::World;
use serde_json::{Value as Json, json};

async fn execute(desk: &Desk, world: &World, event: Json) -> Json {
    let dimensions = &world.queue.settings().dimensions;
    let command = Command::read(event, dimensions).unwrap();
    let (response, _) = desk.execute(command).await.unwrap();
    world.tick().await;
    serde_json::to_value(response).unwrap()
}

async fn queues(desk: &Desk, world: &World) -> BTreeMap<String, (u64, u64)> {
    let response = execute(desk, world, json!({"command": "queues"})).await;
    let queues = response["queues"].as_array().unwrap().iter();
    let plain = queues.map(|is| {
        let number = |name: &str| is[name].as_u64().unwrap();
        let name = is["queue"].as_str().unwrap().to_owned();
        (name, (number("depth"), number("version")))
    });
    plain.collect()
}

pub(crate) async fn the_published_walk_through(world: World) {
    let desk = Desk::new(
        world.queue.clone(),
        world.publisher.clone(),
        world.clock.clone(),
        true,
    );
    let seeded = execute(&desk, &world, json!({"command": "seed", "count": 5})).await;
    let pool = seeded["agents"].as_array().unwrap();
    assert_eq!(pool.len(), 5);
    assert!(pool.iter().all(|agent| agent["status"] == "available"));
    let empty = queues(&desk, &world).await;
    assert_eq!(empty.len(), 6, "{empty:?}");
    assert!(empty.values().all(|is| *is == (0, 0)), "{empty:?}");

    let all = json!({"command": "queue-all-available"});
    let all = execute(&desk, &world, all).await;
    assert_eq!(all, json!({"queued": 5, "assignments": []}));
    let before = queues(&desk, &world).await;
    let depths = [
        "English#F",
        "English#M",
        "French#F",
        "French#M",
        "Spanish#F",
        "Spanish#M",
    ];
    let depths = std::iter::zip(depths, [2, 1, 2, 1, 2, 2]);
    let depths: BTreeMap<_, _> = depths
        .map(|(name, depth)| (format!("Q#{name}"), (depth, depth)))
        .collect();
    assert_eq!(before, depths);

    let criteria = json!({"language": "Spanish", "gender": "M"});
    let call = json!({"command": "match", "callId": "c1", "criteria": criteria});
    let matched = execute(&desk, &world, call).await;
    assert_eq!(matched["status"], "assigned");
    let assigned = &matched["assignment"];
    let fits = |agent: &&Json| {
        agent["attributes"] == json!({"language": ["English", "Spanish"], "gender": "M"})
    };
    let right = pool.iter().find(fits).unwrap();
    assert_eq!(assigned["agentId"], right["agentId"]);
    assert_eq!(assigned["agentName"], right["name"]);

    let mut expected = before.clone();
    expected.insert("Q#Spanish#M".to_owned(), (1, 3));
    expected.insert("Q#English#M".to_owned(), (0, 2));
    assert_eq!(queues(&desk, &world).await, expected);
    let listed = execute(&desk, &world, json!({"command": "agents"})).await;
    let listed = listed["agents"].as_array().unwrap().clone();
    let busy: Vec<_> = listed
        .iter()
        .filter(|agent| agent["status"] == "attendingCall")
        .collect();
    assert_eq!(busy.len(), 1, "{listed:?}");
    assert_eq!(busy[0]["agentId"], right["agentId"]);
    assert_eq!(busy[0]["callId"], "c1");
    assert_eq!(
        world.publisher.heard().len(),
        1,
        "the assignment was published"
    );
}
