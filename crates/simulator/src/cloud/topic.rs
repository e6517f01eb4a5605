//! The two topics. They deliver each message once, unless a fault duplicates, delays or drops it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use lifo_queue::notify::{Notification, Notifier, NotifyError};

use super::invocation::Event;
use super::platform;
use super::process::{Function, Process};
use super::world::{Actor, World};
use crate::fault::Fault;
use crate::sync::{lock, pause};

const PUBLISH: [Fault; 2] = [Fault::PublishRejected, Fault::PublishUnanswered];

const DELIVERY: [Fault; 3] = [
    Fault::NotificationLost,
    Fault::NotificationDuplicated,
    Fault::NotificationDelayed,
];

/// Both topics, through which a process publishes.
pub(crate) struct ProcessTopics(pub(crate) Actor);

#[async_trait]
impl Notifier for ProcessTopics {
    async fn wake_processor(&self, notification: &Notification) -> Result<(), NotifyError> {
        self.publish("wake_processor", Function::ProcessTasks, notification)
            .await
    }

    async fn tail_call(&self, notification: &Notification) -> Result<(), NotifyError> {
        self.publish("tail_call", Function::Trigger, notification)
            .await
    }
}

impl ProcessTopics {
    async fn publish(
        &self,
        operation: &'static str,
        subscriber: Function,
        notification: &Notification,
    ) -> Result<(), NotifyError> {
        let Actor { world, process } = &self.0;
        let call = process.enter(world, operation).await;
        let now = world.now();
        let faulty = process.function != Function::Operator;
        let fault = match process.is_cut_off(now) {
            true => Some(Fault::PublishRejected),
            false if faulty => world.chance.befalls(&PUBLISH, now),
            false => None,
        };
        lock(&world.ledger).called(now, process, operation, fault);
        let (near, far) = (Duration::from_millis(2), Duration::from_millis(15));
        pause(world.chance.between(near, far)).await;
        if fault != Some(Fault::PublishRejected) {
            send(world, process, subscriber, notification);
        }
        process.sent(world, call, operation).await;
        pause(world.chance.between(near, far)).await;
        process.leave(world, call, operation).await;
        match fault {
            None => Ok(()),
            Some(_) => Err(NotifyError {
                topic: operation.to_owned(),
                source: "the cloud's fault plan".into(),
            }),
        }
    }
}

/// Sends a message to the subscribed function.
pub(crate) fn send(
    world: &Arc<World>,
    process: &Process,
    subscriber: Function,
    notification: &Notification,
) {
    let now = world.now();
    let number = world.topics.published.fetch_add(1, Ordering::Relaxed) + 1;
    let event = Event {
        message_id: format!("message-{number}"),
        reason: notification.reason,
    };
    {
        let mut ledger = lock(&world.ledger);
        ledger.published(now, process, subscriber, &event.message_id, notification);
    }
    let seconds = Duration::from_secs;
    let millis = Duration::from_millis;
    let usual = world.chance.between(millis(5), millis(60));
    match world.chance.befalls(&DELIVERY, now) {
        Some(Fault::NotificationLost) => {
            lock(&world.ledger).setback(now, format!("{} is lost", event.message_id));
        }
        Some(Fault::NotificationDuplicated) => {
            let later = world.chance.between(Duration::ZERO, seconds(40));
            deliver(world, subscriber, event.clone(), number, usual + later);
            deliver(world, subscriber, event, number, usual);
        }
        Some(_) => {
            let late = world.chance.between(seconds(1), seconds(30));
            deliver(world, subscriber, event, number, late);
        }
        None => deliver(world, subscriber, event, number, usual),
    }
}

fn deliver(world: &Arc<World>, subscriber: Function, event: Event, number: u64, after: Duration) {
    world.topics.in_flight.fetch_add(1, Ordering::Relaxed);
    let world = world.clone();
    tokio::spawn(async move {
        pause(after).await;
        let topic = usize::from(subscriber == Function::Trigger);
        let newest = world.topics.delivered[topic].fetch_max(number, Ordering::Relaxed);
        if newest > number {
            world.chance.count(Fault::NotificationReordered);
        }
        platform::submit(&world, subscriber, event);
        world.topics.in_flight.fetch_sub(1, Ordering::Relaxed);
    });
}
