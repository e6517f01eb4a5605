//! Runs the modes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_queue::call::Assignment;
use agent_queue::intake::Delivery;
use agent_queue::name::AgentId;
use agent_queue::queue::AgentQueue;
use futures::future::try_join_all;
use simulator::conflicts::Figures;
use simulator::sync::lock;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;

use super::BATCH;
use super::crowd::Crowd;
use super::figures::Figure;
use super::mode::Mode;
use super::process::{Matcher, Published, delivery, done, register};
use super::source::{Next, Source};
use super::stage::{Conditions, Stage, Truth};
use crate::Error;

/// Durations of a steady run and of the unmeasured warm-up at its start.
const STEADY: Duration = Duration::from_millis(1_500);
const WARM_UP: Duration = Duration::from_millis(500);

/// Time from an assignment until the agent is queued again.
const TALK: Duration = Duration::from_millis(50);

/// Time after which a matcher without a batch polls again.
const POLL: Duration = Duration::from_millis(2);

pub(super) async fn play(
    conditions: Conditions,
    matchers: usize,
    crowd: &Crowd,
) -> Result<Figure, Error> {
    let stage = Stage::set(conditions)?;
    match conditions.mode {
        Mode::CallsWait => calls_wait(&stage, matchers, crowd).await,
        Mode::Steady => steady(&stage, matchers, crowd).await,
        Mode::Routed => batches(&stage, matchers, crowd, Source::routed).await,
        _ => batches(&stage, matchers, crowd, Source::any).await,
    }
}

/// Measures the cost of an enqueue without pending calls, on the embedded DynamoDB.
pub(super) async fn cost_of_an_enqueue(seed: u64) -> Result<Figure, Error> {
    let mode = Mode::Unchanged;
    let crowd = Crowd::draw(mode, seed);
    let stage = Stage::set(Conditions {
        mode,
        truth: Truth::Embedded,
        write_limit: None,
        seed,
    })?;
    let queue = stage.queue(&stage.preparing);
    let mut ids = vec![];
    for person in &crowd.people {
        ids.push(register(&queue, person).await?);
    }
    drop(stage.preparing.take_figures());
    for id in &ids {
        done(queue.enqueue(id).await?.changed)?;
    }
    let waits = vec![Duration::ZERO; ids.len()];
    Ok(figure(stage.preparing.take_figures(), 1.0, waits))
}

async fn batches(
    stage: &Stage,
    matchers: usize,
    crowd: &Crowd,
    source: fn(Vec<Delivery>) -> Source,
) -> Result<Figure, Error> {
    enqueue_all(stage, crowd).await?;
    let messages = crowd.wishes.iter().enumerate();
    let messages = messages.map(|(number, wish)| delivery(number, *wish, &*stage.clock()));
    let source = Mutex::new(source(messages.collect()));
    let published = Arc::new(Published::default());
    let work = || async {
        let matcher = Matcher::new(stage.queue(&stage.conflicts), published.clone());
        loop {
            let next = lock(&source).take();
            match next {
                Next::Batch(batch) => {
                    let left = matcher.work(&batch).await;
                    lock(&source).return_messages(&batch, left);
                }
                Next::Later => tokio::time::sleep(POLL).await,
                Next::End => return,
            }
        }
    };
    let began = Instant::now();
    futures::future::join_all((0..matchers).map(|_| work())).await;
    let made = published.made();
    let ended = made.iter().map(|(at, _)| *at).max().unwrap_or(began);
    if made.len() != crowd.wishes.len() {
        let calls = crowd.wishes.len();
        return Err(format!("of {calls} calls {} were assigned", made.len()).into());
    }
    let waits = made.into_iter().map(|(_, took)| took).collect();
    let seconds = (ended - began).as_secs_f64();
    Ok(figure(stage.conflicts.take_figures(), seconds, waits))
}

/// Matches calls indefinitely. Agents are queued again soon after their assignment.
async fn steady(stage: &Stage, matchers: usize, crowd: &Crowd) -> Result<Figure, Error> {
    enqueue_all(stage, crowd).await?;
    let (onward, mut assignments) = unbounded_channel::<Assignment>();
    let published = Arc::new(Published {
        onward: Some(onward.clone()),
        ..Published::default()
    });
    let end = Instant::now() + STEADY;
    let desk = stage.queue(&stage.conflicts);
    let desks = tokio::spawn(async move {
        while let Some(made) = assignments.recv().await {
            let (desk, onward) = (desk.clone(), onward.clone());
            tokio::spawn(async move {
                tokio::time::sleep(TALK).await;
                let (id, call) = (&made.agent_id, &made.call_id);
                // Ignore errors: an agent that is not queued again can only lower the rate.
                if desk.finish(id, call, made.ticket).await.is_ok()
                    && let Ok(enqueued) = desk.enqueue(&made.agent_id).await
                {
                    for next in enqueued.assignments {
                        let _ = onward.send(next);
                    }
                }
            });
        }
    });
    let number = Mutex::new(0);
    let work = || async {
        let matcher = Matcher::new(stage.queue(&stage.conflicts), published.clone());
        while Instant::now() < end {
            let first = {
                let mut number = lock(&number);
                *number += BATCH;
                *number
            };
            let one = |n: usize| delivery(n, crowd.wishes[n % crowd.wishes.len()], &*stage.clock());
            let batch: Vec<_> = (first..first + BATCH).map(one).collect();
            matcher.work(&batch).await;
        }
    };
    let all = (0..matchers).map(|_| work());
    let warm = async {
        tokio::time::sleep(WARM_UP).await;
        drop(stage.conflicts.take_figures());
    };
    tokio::join!(futures::future::join_all(all), warm);
    desks.abort();
    let from = end - STEADY + WARM_UP;
    let made = published.made().into_iter();
    let made = made.filter(|(at, _)| (from..end).contains(at));
    let waits = made.map(|(_, took)| took).collect();
    let seconds = (STEADY - WARM_UP).as_secs_f64();
    Ok(figure(stage.conflicts.take_figures(), seconds, waits))
}

/// Queues agents while more calls are pending than there are agents.
async fn calls_wait(stage: &Stage, desks: usize, crowd: &Crowd) -> Result<Figure, Error> {
    let published = Arc::new(Published::default());
    let preparing = stage.queue(&stage.preparing);
    let matcher = Matcher::new(preparing.clone(), published.clone());
    let messages = crowd.wishes.iter().enumerate();
    let messages = messages.map(|(number, wish)| delivery(number, *wish, &*stage.clock()));
    for batch in messages.collect::<Vec<_>>().chunks(BATCH) {
        matcher.work(batch).await;
    }
    let mut people = VecDeque::new();
    for person in &crowd.people {
        people.push_back(register(&preparing, person).await?);
    }
    let people = Mutex::new(people);
    let work = || async {
        let desk = stage.queue(&stage.conflicts);
        let mut waits = vec![];
        loop {
            let Some(id) = lock(&people).pop_front() else {
                return Ok::<_, Error>(waits);
            };
            waits.extend(enqueue(&desk, &id).await?);
        }
    };
    let began = Instant::now();
    let waits = try_join_all((0..desks).map(|_| work())).await?;
    let seconds = began.elapsed().as_secs_f64();
    let waits = waits.concat();
    Ok(figure(stage.conflicts.take_figures(), seconds, waits))
}

/// Queues an agent and retries until it succeeds. Returns the duration per assignment.
async fn enqueue(desk: &AgentQueue, id: &AgentId) -> Result<Vec<Duration>, Error> {
    let began = Instant::now();
    loop {
        match desk.enqueue(id).await {
            Ok(enqueued) => return Ok(vec![began.elapsed(); enqueued.assignments.len()]),
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Registers and queues all agents, at intervals of a millisecond.
async fn enqueue_all(stage: &Stage, crowd: &Crowd) -> Result<(), Error> {
    let queue = stage.queue(&stage.preparing);
    for person in &crowd.people {
        let id = register(&queue, person).await?;
        done(queue.enqueue(&id).await?.changed)?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

fn figure(figures: Figures, seconds: f64, mut waits: Vec<Duration>) -> Figure {
    waits.sort_unstable();
    let matches = waits.len().max(1) as f64;
    let last = waits.len().saturating_sub(1);
    let p99 = waits.get((0.99 * last as f64).round() as usize);
    let transactions = figures.calls.get("TransactWriteItems").copied();
    let units = !figures.units.is_empty();
    Figure {
        rate: matches / seconds,
        conflict_share: figures.all_conflicts() as f64 / transactions.unwrap_or(1) as f64,
        calls_per_match: figures.all_calls() as f64 / matches,
        write_units: units.then(|| figures.write_units() / matches),
        read_units: units.then(|| figures.read_units() / matches),
        p99_ms: p99.map_or(0.0, |wait| wait.as_secs_f64() * 1_000.0),
        ..Figure::default()
    }
}
