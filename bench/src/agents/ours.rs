//! Our way: the product's own queue, on the product's own store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agent_queue::call::{Call, CallState, News};
use agent_queue::dimension::Dimensions;
use agent_queue::name::{AgentId, CallId};
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::roster::Changed;
use agent_queue::store::dynamodb::DynamoStore;
use agent_queue::tell::{TellError, Teller};
use agent_queue::time::{Clock, SystemClock};
use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use local_cloud::dynamodb::AGENT_TABLE;
use serde_json::json;

use super::Worker;
use super::crowd::{Person, Wish};
use crate::Error;

/// One process of ours.
pub(super) struct Ours {
    queue: AgentQueue,
    teller: Counting,
}

/// Tells nobody, and counts what it was to tell.
#[derive(Default)]
struct Counting {
    told: AtomicUsize,
}

#[async_trait]
impl Teller for Counting {
    async fn tell(&self, news: &[News]) -> Vec<Result<(), TellError>> {
        self.told.fetch_add(news.len(), Ordering::Relaxed);
        news.iter().map(|_| Ok(())).collect()
    }
}

impl Ours {
    pub(super) fn new(client: Client) -> Self {
        let store = DynamoStore::new(client, AGENT_TABLE, Dimensions::default());
        let queue = AgentQueue::new(Arc::new(store), Arc::new(SystemClock), Settings::default());
        Self {
            queue,
            teller: Counting::default(),
        }
    }

    fn dimensions(&self) -> &Dimensions {
        &self.queue.settings().dimensions
    }
}

#[async_trait]
impl Worker for Ours {
    async fn register(&self, people: &[Person]) -> Result<(), Error> {
        for person in people {
            let profile = self.dimensions().profile(&BTreeMap::from([
                ("language".to_owned(), json!(person.languages)),
                ("gender".to_owned(), json!(person.gender)),
            ]))?;
            let id = AgentId::new(person.name.as_str())?;
            done(self.queue.register(&id, &person.name, &profile).await?)?;
            done(self.queue.become_available(&id).await?)?;
        }
        Ok(())
    }

    async fn enqueue(&self, person: &Person) -> Result<(), Error> {
        let id = AgentId::new(person.name.as_str())?;
        done(self.queue.enqueue(&id).await?.changed)
    }

    /// As `match-calls` does: each call matched, then all assignments told at once.
    async fn match_batch(&self, wishes: &[Wish]) -> Result<Vec<Duration>, Error> {
        let mut waits = vec![];
        let mut assignments = vec![];
        for wish in wishes {
            let criteria = self.dimensions().criteria(&BTreeMap::from([
                ("language".to_owned(), json!(wish.language)),
                ("gender".to_owned(), json!(wish.gender)),
            ]))?;
            let call = Call {
                id: CallId::fresh(),
                criteria,
                arrived: SystemClock.now(),
                sequence: 0,
            };
            let started = Instant::now();
            let matched = self.queue.match_call(&call).await?;
            waits.push(started.elapsed());
            let CallState::Assigned(_) = matched.state else {
                return Err(format!("a call for {} found nobody", wish.queue()).into());
            };
            assignments.extend(matched.assignments);
        }
        self.queue
            .tell_assignments(&self.teller, &assignments)
            .await?;
        let told = self.teller.told.swap(0, Ordering::Relaxed);
        if told != wishes.len() {
            return Err(format!("{} calls were matched, {told} were told", wishes.len()).into());
        }
        Ok(waits)
    }
}

fn done(changed: Changed) -> Result<(), Error> {
    match changed {
        Changed::Done(_) => Ok(()),
        other => Err(format!("an agent was not changed: {other:?}").into()),
    }
}
