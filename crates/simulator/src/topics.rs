//! Topics that record what was published, and can be made to fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use lifo_queue::notify::{Notification, Notifier, NotifyError};

#[derive(Debug, Default)]
pub struct Topics {
    process_tasks: Mutex<Vec<Notification>>,
    trigger: Mutex<Vec<Notification>>,
    broken: AtomicBool,
}

impl Topics {
    pub fn process_tasks(&self) -> Vec<Notification> {
        self.process_tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn trigger(&self) -> Vec<Notification> {
        self.trigger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Lets all later publishes fail (true) or succeed (false).
    pub fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    fn publish(
        &self,
        topic: &Mutex<Vec<Notification>>,
        notification: &Notification,
    ) -> Result<(), NotifyError> {
        if self.broken.load(Ordering::SeqCst) {
            let source = "the topic is broken".into();
            return Err(NotifyError {
                topic: "a local topic".to_owned(),
                source,
            });
        }
        topic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(notification.clone());
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
