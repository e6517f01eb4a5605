//! The actors of a schedule: agents, callers, the call queue and the sweep.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::agent::{AgentState, IdleStatus};
use agent_queue::call::CallState;
use agent_queue::dimension::Dimensions;
use agent_queue::intake::{Delivery, Intake};
use agent_queue::name::{AgentId, CallId};
use agent_queue::profile::Profile;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{MAX_WAIT, Stage, audit, outcomes};

const LANGUAGES: [&str; 3] = ["English", "French", "Spanish"];
const GENDERS: [&str; 2] = ["F", "M"];

/// Time after which SQS redelivers a message that was not deleted.
const VISIBILITY: Duration = Duration::from_secs(30);

/// The messages that have not been deleted yet.
type Groups = Arc<Mutex<Messages>>;

#[derive(Default)]
struct Messages {
    groups: BTreeMap<String, VecDeque<Delivery>>,
    /// Messages in flight, which are redelivered if the function crashes, even at the end of the schedule.
    hidden: Vec<Delivery>,
}

impl Messages {
    /// Takes all remaining messages, each group in its order.
    fn take_all(&mut self) -> Vec<Delivery> {
        let hidden = std::mem::take(&mut self.hidden);
        let pending = self.groups.values_mut().flat_map(std::mem::take);
        hidden.into_iter().chain(pending).collect()
    }
}

pub(super) async fn perform(stage: &Arc<Stage>, last: Duration) -> Vec<String> {
    let groups = Groups::default();
    let mut actors = JoinSet::new();
    for number in 0..stage.random(2..7) {
        actors.spawn(agent(stage.clone(), number));
    }
    actors.spawn(callers(stage.clone(), groups.clone()));
    for _ in 0..2 {
        actors.spawn(call_queue(stage.clone(), groups.clone()));
    }
    actors.spawn(sweeps(stage.clone()));
    let (mut wrong, mut ended) = (vec![], BTreeMap::new());
    let end = Instant::now() + last;
    while Instant::now() < end {
        sleep(Duration::from_secs(7)).await;
        wrong.extend(audit(stage).await);
        wrong.extend(changed_answers(stage, &mut ended).await);
    }
    actors.shutdown().await;
    // After the faults, deliver all remaining messages.
    stage.world.heal();
    let left = groups.lock().unwrap_or_else(|e| e.into_inner()).take_all();
    stage.network.heal();
    deliver_all(stage, left).await;
    wrong.extend(changed_answers(stage, &mut ended).await);
    wrong
}

/// Checks that no call leaves its final state, except for unanswered assignments.
async fn changed_answers(stage: &Stage, ended: &mut BTreeMap<CallId, CallState>) -> Vec<String> {
    let mut wrong = vec![];
    for (id, state) in outcomes(stage).await {
        match ended.get(&id) {
            Some(before) if *before == state => {}
            Some(before) if may_follow(before, &state) => {
                ended.insert(id, state);
            }
            Some(before) => {
                wrong.push(format!("{id}: was {before:?} and became {state:?}"));
            }
            None if state != CallState::Pending => {
                ended.insert(id, state);
            }
            _ => {}
        }
    }
    wrong
}

/// Whether a call can change from `before` to `state`. Only assigned and pending calls can change,
/// and a new assignment must have a higher number.
fn may_follow(before: &CallState, state: &CallState) -> bool {
    match (before, state) {
        (CallState::Assigned(before), CallState::Assigned(now)) => now.number > before.number,
        (CallState::Assigned(_) | CallState::Pending, _) => true,
        _ => false,
    }
}

/// Simulates an agent that registers, queues, attends calls and leaves. Sometimes the agent leaves
/// a call unfinished.
async fn agent(stage: Arc<Stage>, number: u64) {
    let id = agent_id(number);
    let profile = profile(&stage, number);
    loop {
        let queue = stage.queue();
        let registered = queue.register(&id, "An Agent", &profile).await;
        if registered.is_ok() {
            break;
        }
    }
    loop {
        sleep(Duration::from_millis(stage.random(50..4_000))).await;
        // Each action is a separate invocation, which can crash at any time.
        let deed = deed(stage.clone(), id.clone());
        if stage.random(0..20) == 0 {
            let alive = Duration::from_millis(stage.random(1..60));
            if timeout(alive, deed).await.is_err() {
                *stage.crashes.lock().unwrap_or_else(|e| e.into_inner()) += 1;
            }
        } else {
            deed.await;
        }
    }
}

/// Performs the agent's next action. Failed actions are not repeated: the next action starts from
/// the agent's state.
async fn deed(stage: Arc<Stage>, id: AgentId) {
    let queue = stage.queue();
    let Ok(page) = queue.agents(None, 100).await else {
        return;
    };
    let Some(agent) = page.agents.into_iter().find(|agent| agent.id == id) else {
        return;
    };
    let chance = stage.random(0..10);
    match agent.state {
        AgentState::Offline => drop(queue.become_available(&id).await),
        AgentState::Available { .. } if chance == 0 => {
            drop(queue.leave(&id, IdleStatus::Offline).await);
        }
        AgentState::Available { .. } => {
            if let Ok(enqueued) = queue.enqueue(&id).await {
                let publisher = &*stage.world;
                drop(
                    queue
                        .publish_assignments(publisher, &enqueued.assignments)
                        .await,
                );
            }
        }
        AgentState::Queued { .. } if chance == 0 => {
            drop(queue.leave(&id, IdleStatus::Available).await);
        }
        AgentState::AttendingCall { call, .. } if chance > 1 => {
            drop(queue.finish(&id, &call, agent.ticket).await);
        }
        AgentState::AttendingCall { call, .. } if chance == 1 => {
            drop(queue.extend(&id, &call, agent.ticket).await);
        }
        AgentState::Queued { .. } | AgentState::AttendingCall { .. } => {}
    }
}

/// Sends calls at random intervals. Some callers cancel, and some messages are sent twice.
async fn callers(stage: Arc<Stage>, groups: Groups) {
    for number in 0..stage.random(5..40) {
        sleep(Duration::from_millis(stage.random(0..6_000))).await;
        let delivery = message(&stage, number);
        let twice = stage.random(0..5) == 0;
        {
            let mut messages = groups.lock().unwrap_or_else(|e| e.into_inner());
            let groups = &mut messages.groups;
            let group = groups.entry(delivery.group.clone()).or_default();
            if twice {
                let mut again = delivery.clone();
                again.id = format!("{}-again", delivery.id);
                group.push_back(again);
            }
            group.push_back(delivery.clone());
        }
        // This caller or an earlier one cancels.
        if stage.random(0..4) == 0
            && let Ok(id) = CallId::new(format!("call-{}", stage.random(0..number + 1)))
        {
            drop(stage.queue().cancel(&id).await);
        }
    }
}

/// Polls the FIFO queue. Delivers one batch from some groups at a time and redelivers failed
/// messages.
async fn call_queue(stage: Arc<Stage>, groups: Groups) {
    loop {
        sleep(Duration::from_millis(stage.random(10..500))).await;
        let mut batch = vec![];
        {
            let mut messages = groups.lock().unwrap_or_else(|e| e.into_inner());
            for group in messages.groups.values_mut() {
                let take = usize::try_from(stage.random(0..4)).unwrap_or(0);
                // Only one batch at a time can deliver a group, so the batch takes the whole group.
                if batch.len() + group.len() <= 10 && take > 0 {
                    batch.extend(std::mem::take(group));
                }
            }
            messages.hidden.extend(batch.iter().cloned());
        }
        if batch.is_empty() {
            continue;
        }
        let queue = stage.queue();
        let intake = Intake::new(queue, stage.world.clone(), stage.world.clone());
        let deadline = Instant::now() + Duration::from_secs(20);
        let dies = stage.random(0..10) == 0;
        let alive = Duration::from_millis(if dies { stage.random(1..80) } else { 60_000 });
        let failed = match timeout(alive, intake.work(&batch, deadline)).await {
            Ok(report) => report.failed,
            Err(_) => {
                *stage.crashes.lock().unwrap_or_else(|e| e.into_inner()) += 1;
                sleep(VISIBILITY).await;
                batch.iter().map(|delivery| delivery.id.clone()).collect()
            }
        };
        let mut messages = groups.lock().unwrap_or_else(|e| e.into_inner());
        let Messages { groups, hidden } = &mut *messages;
        for delivery in batch.into_iter().rev() {
            hidden.retain(|other| other.id != delivery.id);
            if failed.contains(&delivery.id) {
                let group = groups.entry(delivery.group.clone()).or_default();
                group.push_front(delivery);
            }
        }
    }
}

async fn sweeps(stage: Arc<Stage>) {
    loop {
        sleep(Duration::from_secs(20)).await;
        let queue = stage.queue();
        let alive = Duration::from_millis(stage.random(1..2_000));
        drop(timeout(alive, queue.sweep(&*stage.world)).await);
    }
}

async fn deliver_all(stage: &Arc<Stage>, left: Vec<Delivery>) {
    let intake = Intake::new(stage.queue(), stage.world.clone(), stage.world.clone());
    for batch in left.chunks(10) {
        let deadline = Instant::now() + Duration::from_secs(600);
        intake.work(batch, deadline).await;
    }
}

/// Lets time pass without faults and with a sweep every 30 seconds.
pub(super) async fn settle(stage: &Arc<Stage>) {
    let sweeps = 4 + MAX_WAIT.as_secs() / 30;
    for _ in 0..sweeps {
        sleep(Duration::from_secs(30)).await;
        drop(stage.queue().sweep(&*stage.world).await);
    }
}

fn agent_id(number: u64) -> AgentId {
    AgentId::new(format!("agent-{number}")).unwrap_or_else(|_| AgentId::fresh())
}

fn profile(stage: &Stage, number: u64) -> Profile {
    let language = |shift| LANGUAGES[usize::try_from(number + shift).unwrap_or(0) % 3];
    let languages: Vec<_> = (0..stage.random(1..4)).map(language).collect();
    let gender = GENDERS[usize::try_from(number).unwrap_or(0) % 2];
    let attributes = BTreeMap::from([
        ("language".to_owned(), json!(languages)),
        ("gender".to_owned(), json!(gender)),
    ]);
    let profile = Dimensions::default().profile(&attributes);
    profile.expect("a profile")
}

/// Creates a call with random criteria. One in three calls has a wildcard.
fn message(stage: &Stage, number: u64) -> Delivery {
    let any = stage.random(0..6);
    let pick = |from: &[&str], count| {
        from[usize::try_from(stage.random(0..count)).unwrap_or(0)].to_owned()
    };
    let language = (any != 0).then(|| pick(&LANGUAGES, 3));
    let gender = (any != 1).then(|| pick(&GENDERS, 2));
    let part = |value: &Option<String>| value.clone().unwrap_or_else(|| "*".to_owned());
    let id = format!("call-{number}");
    if let Ok(id) = CallId::new(id.as_str()) {
        let mut calls = stage.calls.lock().unwrap_or_else(|e| e.into_inner());
        calls.push(id);
    }
    Delivery {
        id: format!("message-{number}"),
        receipt: format!("receipt-{number}"),
        received: 1,
        body: json!({"callId": id, "criteria": {"language": language, "gender": gender}})
            .to_string(),
        group: format!("{}#{}", part(&language), part(&gender)),
        deduplication: id,
        sent: stage.now(),
        sequence: number.into(),
    }
}
