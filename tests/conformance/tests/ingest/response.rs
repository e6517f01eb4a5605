//! The batch response under all faults. SQS redelivers exactly the failed messages, and each
//! redelivered message eventually takes effect once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lifo_queue::ingest::Delivery;
use lifo_queue::store::memory::MemoryStore;
use lifo_queue::task::NewTask;
use proptest::prelude::*;
use serde_json::{Value, json};
use simulator::fault::Fault;
use simulator::faulty::FaultyStore;

use super::world::{Queues, ingest, message, work};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Plan {
    Works,
    /// Succeeds on the third try.
    Stutters,
    /// Is applied, but its first acknowledgement is lost.
    Lost,
    Throttled,
    Denied,
    Invalid,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    Task(Plan),
    Expired { handed_over: bool },
    Wrong,
}

#[derive(Clone, Debug)]
struct Sent {
    elements: Vec<Element>,
    array: bool,
    /// Whether the dead-letter queue accepts the message.
    buried: bool,
}

fn elements() -> impl Strategy<Value = Element> {
    let plan = prop_oneof![
        6 => Just(Plan::Works),
        1 => Just(Plan::Stutters),
        1 => Just(Plan::Lost),
        1 => Just(Plan::Throttled),
        1 => Just(Plan::Denied),
        1 => Just(Plan::Invalid),
    ];
    prop_oneof![
        6 => plan.prop_map(Element::Task),
        1 => any::<bool>().prop_map(|handed_over| Element::Expired { handed_over }),
        1 => Just(Element::Wrong),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let single = elements().prop_map(|element| (vec![element], false));
    let array = prop::collection::vec(elements(), 0..4).prop_map(|elements| (elements, true));
    (prop_oneof![single, array], prop::bool::weighted(0.8)).prop_map(
        |((elements, array), buried)| Sent {
            elements,
            array,
            buried,
        },
    )
}

fn id(message: usize, element: usize) -> String {
    format!("t{message}.{element}")
}

fn delivery(n: usize, sent: &Sent) -> Delivery {
    let spec = |(e, element): (usize, &Element)| match element {
        Element::Task(_) => json!({"taskId": id(n, e)}),
        Element::Expired { .. } => json!({"taskId": id(n, e), "ttlSeconds": 1}),
        Element::Wrong => json!({"taskId": e}),
    };
    let specs: Vec<_> = sent.elements.iter().enumerate().map(spec).collect();
    let body = match (sent.array, specs.as_slice()) {
        (false, [one]) => one.clone(),
        _ => Value::from(specs),
    };
    message(&format!("m{n}"), body)
}

/// A store whose inserts follow the messages' plans until the faults end.
fn store(batch: &[Sent], lifted: Arc<AtomicBool>, inner: Arc<MemoryStore>) -> FaultyStore {
    let mut plans = BTreeMap::new();
    for (n, sent) in batch.iter().enumerate() {
        for (e, element) in sent.elements.iter().enumerate() {
            if let Element::Task(plan) = element {
                plans.insert(id(n, e), *plan);
            }
        }
    }
    let tries = Mutex::new(BTreeMap::<String, u32>::new());
    FaultyStore::failing_inserts(inner, move |task: &NewTask| {
        let mut tries = tries.lock().unwrap();
        let tried = tries.entry(task.id.to_string()).or_default();
        *tried += 1;
        let plan = plans[task.id.as_str()];
        match (plan, *tried) {
            (Plan::Invalid, _) => Some(Fault::Invalid),
            _ if lifted.load(Ordering::Relaxed) => None,
            (Plan::Stutters, 1 | 2) => Some(Fault::LostRequest),
            (Plan::Lost, 1) => Some(Fault::LostAck),
            (Plan::Throttled, _) => Some(Fault::Throttled),
            (Plan::Denied, _) => Some(Fault::Denied),
            _ => None,
        }
    })
}

/// Whether SQS redelivers a message. Ignores expired tasks, because the shed queue can reject them
/// together with other messages' expired tasks.
fn is_redelivered(sent: &Sent) -> bool {
    let has = |wanted: &[Element]| sent.elements.iter().any(|element| wanted.contains(element));
    let unwritten = has(&[Element::Task(Plan::Throttled), Element::Task(Plan::Denied)]);
    let wrong = has(&[Element::Wrong, Element::Task(Plan::Invalid)]);
    unwritten || (wrong && !sent.buried)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn only_failed_messages_are_redelivered_and_each_takes_effect_once(
        batch in prop::collection::vec(sent(), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(check(&batch))?;
    }
}

async fn check(batch: &[Sent]) -> Result<(), TestCaseError> {
    let (table, queues) = (Arc::new(MemoryStore::new()), Arc::<Queues>::default());
    let lifted = Arc::<AtomicBool>::default();
    let faulty = Arc::new(store(batch, lifted.clone(), table.clone()));
    let ingest = ingest(faulty, &queues);
    let mut first_kept_out = None;
    for (n, sent) in batch.iter().enumerate() {
        if !sent.buried {
            queues.rejects.lock().unwrap().insert(format!("m{n}"));
        }
        for (e, element) in sent.elements.iter().enumerate() {
            if *element == (Element::Expired { handed_over: false }) {
                queues.keeps_out.lock().unwrap().insert(id(n, e));
                let writes_fail = sent.elements.iter().any(|element| {
                    matches!(element, Element::Task(Plan::Throttled | Plan::Denied))
                });
                if !writes_fail {
                    first_kept_out.get_or_insert((n, e));
                }
            }
        }
    }
    let deliveries: Vec<_> = batch
        .iter()
        .enumerate()
        .map(|(n, s)| delivery(n, s))
        .collect();
    let report = work(&ingest, &deliveries).await;

    // The shed queue rejects one expired task and all expired tasks after it.
    let kept_out = |n: usize, sent: &Sent| {
        let expired = |(e, element): (usize, &Element)| {
            matches!(element, Element::Expired { .. })
                && first_kept_out.is_some_and(|first| (n, e) >= first)
        };
        sent.elements.iter().enumerate().any(expired)
    };
    let expected: Vec<_> = batch
        .iter()
        .enumerate()
        .filter(|(n, sent)| is_redelivered(sent) || kept_out(*n, sent))
        .map(|(n, _)| format!("m{n}"))
        .collect();
    prop_assert_eq!(&report.returned, &expected);
    prop_assert_eq!(queues.postponed.lock().unwrap().len(), expected.len());

    // All faults end, except that DynamoDB still rejects invalid items.
    lifted.store(true, Ordering::Relaxed);
    queues.rejects.lock().unwrap().clear();
    queues.keeps_out.lock().unwrap().clear();
    let again: BTreeSet<_> = report.returned.into_iter().collect();
    let left: Vec<_> = deliveries
        .into_iter()
        .filter(|delivery| again.contains(&delivery.id))
        .collect();
    let second = work(&ingest, &left).await;
    prop_assert_eq!(second.returned, Vec::<String>::new());
    let all = |wanted: fn(&Element) -> bool| {
        let elements = batch.iter().flat_map(|sent| &sent.elements);
        elements.filter(|element| wanted(element)).count()
    };
    let tasks = all(|e| matches!(e, Element::Task(plan) if *plan != Plan::Invalid));
    let wrong = all(|e| matches!(e, Element::Wrong | Element::Task(Plan::Invalid)));
    prop_assert_eq!(table.records().len(), tasks);
    prop_assert_eq!(report.created + second.created, tasks as u64);
    prop_assert_eq!(report.rejected + second.rejected, wrong as u64);
    // Each message has a single entry in the dead-letter queue, with all its errors.
    let letters = queues.letters.lock().unwrap();
    prop_assert!(
        letters.values().all(|letters| letters.len() == 1),
        "{:?}",
        letters
    );
    let shed: BTreeSet<_> = queues.shed.lock().unwrap().iter().cloned().collect();
    prop_assert_eq!(shed.len(), all(|e| matches!(e, Element::Expired { .. })));
    Ok(())
}
