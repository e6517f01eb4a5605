//! The previous release and this one run at once on one table. The previous one writes its items in
//! its own form, this one reads them, and each assigns the other's calls and agents. Meanwhile the
//! sweep of this release moves the agents.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent_queue::call::{Call, CallState};
use agent_queue::criteria::QueueName;
use agent_queue::dimension::Dimensions;
use agent_queue::lane::Batch;
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::store::{AgentStore, Order};
use agent_queue::time::{Clock, SystemClock};
use agent_queue::transaction::agent_key;
use agents::world::Recorder;
use agents::{agent_id, call, call_id, embedded, partitions, profile, queue, rows, tally};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use fastrand::Rng;
use simulator::dynamodb::AGENT_TABLE;
use tokio::task::JoinHandle;
use uuid::Uuid;

const AGENTS: usize = 48;
/// Half of the calls are for each language. 32 agents speak it, so that each agent gets a call.
const CALLS: usize = 66;
const PROCESSES: usize = 4;
const LEASE: Duration = Duration::from_secs(3_600);

type Item = Vec<(&'static str, AttributeValue)>;
/// An update without its table and key.
type Changing = aws_sdk_dynamodb::types::builders::UpdateBuilder;

fn text(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

fn put(pk: &str, sk: &str, item: Item, condition: Option<&str>) -> TransactWriteItem {
    let mut put = Put::builder().table_name(AGENT_TABLE);
    put = put.item("pk", text(pk)).item("sk", text(sk));
    for (name, value) in item {
        put = put.item(name, value);
    }
    let put = put.set_condition_expression(condition.map(str::to_owned));
    TransactWriteItem::builder()
        .put(put.build().unwrap())
        .build()
}

fn delete(pk: &str, sk: &str) -> TransactWriteItem {
    let delete = Delete::builder().table_name(AGENT_TABLE);
    let delete = delete.key("pk", text(pk)).key("sk", text(sk));
    TransactWriteItem::builder()
        .delete(delete.build().unwrap())
        .build()
}

fn add(pk: &str, sk: &str, attribute: &str, by: i64) -> TransactWriteItem {
    let update = Update::builder()
        .table_name(AGENT_TABLE)
        .key("pk", text(pk))
        .key("sk", text(sk))
        .update_expression("ADD #n :by")
        .expression_attribute_names("#n", attribute)
        .expression_attribute_values(":by", AttributeValue::N(by.to_string()));
    TransactWriteItem::builder()
        .update(update.build().unwrap())
        .build()
}

/// The previous releases: their transactions count the pending calls, they have 16 stripes of joins,
/// and their items have no assignment numbers and no time to live. The agents are in `AllAgents`, or
/// where this release moved them.
struct Before {
    client: Client,
    /// This release's store for the reads, which both releases share.
    store: Arc<dyn AgentStore>,
}

impl Before {
    async fn transact(&self, actions: Vec<TransactWriteItem>) -> bool {
        let request = self.client.transact_write_items();
        request
            .set_transact_items(Some(actions))
            .send()
            .await
            .is_ok()
    }

    /// Commits these actions and the update of an agent, wherever its item is.
    async fn change(&self, agent: &str, actions: &[TransactWriteItem], update: &Changing) -> bool {
        for pk in ["AllAgents", &agent_key(&agent_id(agent)).0] {
            let update = update
                .clone()
                .table_name(AGENT_TABLE)
                .key("pk", text(pk))
                .key("sk", text(format!("Agent#{agent}")));
            let update = TransactWriteItem::builder().update(update.build().unwrap());
            let all = actions.iter().cloned().chain([update.build()]);
            if self.transact(all.collect()).await {
                return true;
            }
        }
        false
    }

    /// available → queued.
    async fn enqueue(&self, id: &str, languages: &[&str], stripe: usize) {
        let agent = self.store.agent(&agent_id(id)).await.unwrap().unwrap();
        let (at, ticket) = (SystemClock.now(), Uuid::new_v4());
        let queues: Vec<_> = languages.iter().map(|is| format!("Q#{is}#F")).collect();
        let set = AttributeValue::Ss(queues.clone());
        let mut actions = vec![];
        for queue in &queues {
            let entry = vec![
                ("AgentID", text(id)),
                ("AgentName", text(&agent.name)),
                ("Ticket", text(ticket)),
                ("QueuedAt", text(at)),
                ("Queues", set.clone()),
            ];
            actions.push(put(queue, &format!("{at}#{id}"), entry, None));
            let joins = format!("Joins#{}", (stripe + actions.len()) % 16);
            actions.push(add(&joins, "Joins", queue, 1));
        }
        let update = Update::builder()
            .condition_expression("AgentStatus = :available AND Ticket = :old")
            .update_expression(
                "SET AgentStatus = :queued, Ticket = :t, QueuedAt = :at, Queues = :q",
            )
            .expression_attribute_values(":available", text("available"))
            .expression_attribute_values(":old", text(agent.ticket))
            .expression_attribute_values(":queued", text("queued"))
            .expression_attribute_values(":t", text(ticket))
            .expression_attribute_values(":at", text(at))
            .expression_attribute_values(":q", set);
        let queued = self.change(id, &actions, &update).await;
        assert!(queued, "{id} is not queued");
    }

    fn call(id: &str, wanted: &str, arrived: impl ToString) -> Item {
        vec![
            ("CallID", text(id)),
            ("Criteria", text(wanted)),
            ("ArrivedAt", text(arrived)),
            ("Sequence", text(7)),
        ]
    }

    /// Assigns a new call, or writes it as pending.
    async fn match_call(&self, id: &str, wanted: &str) {
        let arrived = SystemClock.now().to_string();
        while let Some(entry) = self.first(&queue(wanted)).await {
            let mut record = Self::call(id, wanted, &arrived);
            record.push(("CallStatus", text("assigned")));
            let (now, until) = (SystemClock.now(), SystemClock.now().plus(LEASE));
            let assigned = vec![
                ("AgentID", text(&entry.agent)),
                ("AgentName", text(&entry.agent_name)),
                ("Ticket", text(entry.ticket)),
                ("AssignedAt", text(now)),
                ("LeaseUntil", text(until)),
            ];
            record.extend(assigned.clone());
            let mut events = vec![
                ("CallStatus", text("assigned")),
                ("CallID", text(id)),
                ("Criteria", text(wanted)),
            ];
            events.extend(assigned);
            let lease = vec![
                ("LeaseUntil", text(until)),
                ("AgentID", text(&entry.agent)),
                ("Ticket", text(entry.ticket)),
                ("CallID", text(id)),
            ];
            let stripe = |id: &str| agent_queue::transaction::stripe_of(id);
            let outbox = format!("Outbox#{}", stripe(id));
            let leases = format!("Leases#{}", stripe(entry.agent.as_str()));
            let mut actions = vec![
                put(
                    &format!("Call#{id}"),
                    "Call",
                    record,
                    Some("attribute_not_exists(pk)"),
                ),
                put(&outbox, &format!("{now}#{id}"), events, None),
                put(&leases, &format!("{until}#{}", entry.agent), lease, None),
            ];
            for queue in &entry.queues {
                actions.push(delete(
                    queue.as_str(),
                    &format!("{}#{}", entry.at, entry.agent),
                ));
            }
            let attend = Self::attend(&entry.ticket.to_string(), id, &until.to_string());
            if self.change(entry.agent.as_str(), &actions, &attend).await {
                return;
            }
        }
        let mut record = Self::call(id, wanted, &arrived);
        let place = format!("{arrived}#{:039}#{id}", 7);
        let line = format!("C#{wanted}");
        let waiting = put(&line, &place, record.clone(), None);
        record.push(("CallStatus", text("waiting")));
        let record = put(
            &format!("Call#{id}"),
            "Call",
            record,
            Some("attribute_not_exists(pk)"),
        );
        let count = add("AllCriteria", &line, "WaitingDepth", 1);
        assert!(
            self.transact(vec![record, waiting, count]).await,
            "{id} does not wait"
        );
    }

    fn attend(ticket: &str, call: &str, until: &str) -> Changing {
        Update::builder()
            .condition_expression("AgentStatus = :queued AND Ticket = :ticket")
            .update_expression(
                "SET AgentStatus = :attending, CallID = :call, LeaseUntil = :until \
                 REMOVE AvailableSince, QueuedAt, Queues",
            )
            .expression_attribute_values(":queued", text("queued"))
            .expression_attribute_values(":ticket", text(ticket))
            .expression_attribute_values(":attending", text("attendingCall"))
            .expression_attribute_values(":call", text(call))
            .expression_attribute_values(":until", text(until))
    }

    async fn first(&self, queue: &QueueName) -> Option<agent_queue::transaction::QueueEntry> {
        let first = self.store.peek(queue, Order::Fifo, 1).await.unwrap();
        first.into_iter().next()
    }
}

fn languages(number: usize) -> Vec<&'static str> {
    [&["English"][..], &["Spanish"], &["English", "Spanish"]][number % 3].to_vec()
}

fn wanted(number: usize) -> &'static str {
    ["English#F", "Spanish#F"][number % 2]
}

fn this(store: &Arc<dyn AgentStore>) -> AgentQueue {
    let settings = Settings {
        call_lease: Some(LEASE),
        ..Settings::default()
    };
    AgentQueue::new(store.clone(), Arc::new(SystemClock), settings)
}

async fn play(seed: u64) {
    let client = embedded().await.client;
    let store: Arc<dyn AgentStore> = Arc::new(DynamoStore::new(
        client.clone(),
        AGENT_TABLE,
        Dimensions::default(),
    ));
    let queue = this(&store);
    for number in 0..AGENTS {
        let id = agent_id(&format!("a{number}"));
        let profile = profile(&languages(number), "F");
        queue.register(&id, "Ana", &profile).await.unwrap();
        queue.become_available(&id).await.unwrap();
    }
    partitions::to_former(&client, (0..AGENTS).map(|number| format!("a{number}"))).await;
    let processes = (0..PROCESSES).map(|process| {
        let before = Before {
            client: client.clone(),
            store: store.clone(),
        };
        let (queue, mut rng) = (this(&store), Rng::with_seed(seed ^ process as u64));
        tokio::spawn(async move {
            let is_before = process % 2 == 0;
            let own = |number: &usize| number % PROCESSES == process;
            let mut agents = (0..AGENTS).filter(own).collect::<Vec<_>>();
            let mut calls = (0..CALLS).filter(own).collect::<Vec<_>>();
            while !agents.is_empty() || !calls.is_empty() {
                let next = if rng.bool() { agents.pop() } else { None };
                if let Some(number) = next {
                    let id = format!("a{number}");
                    if is_before {
                        before.enqueue(&id, &languages(number), number).await;
                    } else {
                        queue.enqueue(&agent_id(&id)).await.unwrap();
                    }
                } else if let Some(number) = calls.pop() {
                    let id = format!("c{number}");
                    if is_before {
                        before.match_call(&id, wanted(number)).await;
                    } else {
                        let new = call(&id, wanted(number), 0);
                        let arrived = SystemClock.now();
                        let call = Call { arrived, ..new };
                        let answers = queue.match_lane(&[call], &Batch::default()).await;
                        answers.into_iter().for_each(|answer| drop(answer.unwrap()));
                    }
                }
            }
        })
    });
    let processes: Vec<_> = processes.collect();
    while !processes.iter().all(JoinHandle::is_finished) {
        store.adopt().await.unwrap();
        tokio::time::sleep(Duration::from_millis(seed % 20)).await;
    }
    for process in processes {
        process.await.unwrap();
    }
    // Both releases have ended. No process has read some pending calls of the previous release
    // again.
    let publisher = Recorder::default();
    publisher.fail_for(&[]);
    queue.sweep(&publisher).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5_100)).await;
    queue.sweep(&publisher).await.unwrap();
    check(&*store, &publisher).await;
    assert_eq!(
        partitions::items(&client, "AllAgents").await,
        0,
        "all moved"
    );
}

async fn check(store: &dyn AgentStore, publisher: &Recorder) {
    let calls: Vec<_> = (0..CALLS).map(|n| call_id(&format!("c{n}"))).collect();
    tally::check(&rows::stored(store, &calls).await.unwrap()).unwrap();
    let published: BTreeSet<_> = publisher
        .heard()
        .iter()
        .map(|event| event.call_id().clone())
        .collect();
    let (mut tickets, mut waiting) = (BTreeSet::new(), 0);
    for id in &calls {
        match store.call(id).await.unwrap().unwrap().state {
            CallState::Assigned(made) => {
                assert_eq!(made.number, 1, "{made:?}");
                assert!(tickets.insert(made.ticket.to_string()), "{made:?}");
                assert!(published.contains(id), "{id} was not published");
            }
            CallState::Waiting => waiting += 1,
            other => panic!("{id} is {other:?}"),
        }
    }
    assert_eq!(waiting, CALLS - AGENTS, "each agent has a call");
    for queue in store.queues().await.unwrap() {
        assert_eq!(queue.depth, 0, "{queue:?}");
        assert!(queue.version >= 2, "both releases' joins count: {queue:?}");
    }
}

#[tokio::test]
async fn both_releases_work_on_one_table_at_once() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    play(seed).await;
}
