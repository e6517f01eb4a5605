//! Topics that record published messages and can be set to fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use lifo_queue::notify::{Notification, Notifier, NotifyError};

use crate::sync::lock;

#[derive(Debug, Default)]
pub struct Topics {
    process_tasks: Mutex<Vec<Notification>>,
    trigger: Mutex<Vec<Notification>>,
    broken: AtomicBool,
}

impl Topics {
    pub fn process_tasks(&self) -> Vec<Notification> {
        lock(&self.process_tasks).clone()
    }

    pub fn trigger(&self) -> Vec<Notification> {
        lock(&self.trigger).clone()
    }

    /// Makes all later publishes fail (true) or succeed (false).
    pub fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    fn publish(
        &self,
        topic: &Mutex<Vec<Notification>>,
        notification: &Notification,
    ) -> Result<(), NotifyError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(NotifyError {
                topic: "a local topic".to_owned(),
                source: "the topic is broken".into(),
            });
        }
        lock(topic).push(notification.clone());
        Ok(())
    }
}

#[async_trait]
impl Notifier for Topics {
    async fn wake_processor(&self, notification: &Notification) -> Result<(), NotifyError> {
        self.publish(&self.process_tasks, notification)
    }

    async fn tail_call(&self, notification: &Notification) -> Result<(), NotifyError> {
        self.publish(&self.trigger, notification)
    }
}
