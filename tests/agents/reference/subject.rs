//! The queue under test: performs requests on a store, and reads its table. A store draws random
//! tickets, and the reference numbers its own. The subject therefore maps each real ticket to the
//! reference's number when the ticket first appears.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_queue::agent::{Agent, Ticket};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::{Assignment, Call, CallState, OutboxEntry};
use agent_queue::matching::one_call::Cancel;
use agent_queue::name::CallId;
use agent_queue::queue::{AgentQueue, Settings};
use agent_queue::store::{AgentStore, Order};
use agent_queue::time::{Clock, Micros};
use agent_queue::transaction::Change;
use aws_sdk_dynamodb::Client;
use uuid::Uuid;

use super::operation::{Operation, Response, Wish};
use super::queue::{ANSWER, LEASE, MAX_WAIT, answers, table};
use crate::rows::{self, Row, Rows};
use crate::world::Recorder;

pub type Failure = Box<dyn Error + Send + Sync>;

#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}

/// The way to read the table.
pub enum Seen {
    /// Through the store's own methods.
    ByStore,
    /// With a scan that bypasses the store.
    ByScan(Client),
}

pub struct Subject {
    store: Arc<dyn AgentStore>,
    seen: Seen,
    clock: Arc<SetClock>,
    queue: AgentQueue,
    publisher: Recorder,
    calls: Vec<CallId>,
    /// Maps the text of each real ticket to the reference's ticket.
    numbers: BTreeMap<String, Ticket>,
}

impl Subject {
    /// Creates a queue on a fresh store. The queue reads `page` entries per query.
    pub fn new(store: Arc<dyn AgentStore>, seen: Seen, order: Order, page: u16) -> Self {
        let clock = Arc::new(SetClock::default());
        let settings = Settings {
            order,
            max_wait: MAX_WAIT,
            call_lease: Some(LEASE),
            answer_within: answers(order).then_some(ANSWER),
            page,
            ..Settings::default()
        };
        let publisher = Recorder::default();
        Self {
            queue: AgentQueue::new(store.clone(), clock.clone(), settings),
            store,
            seen,
            clock,
            publisher,
            calls: vec![],
            numbers: BTreeMap::new(),
        }
    }

    /// Performs a request. The response contains the store's tickets.
    pub async fn perform(&mut self, operation: &Operation) -> Result<Response, Failure> {
        self.clock.0.store(operation.now.0, Ordering::SeqCst);
        match &operation.wish {
            Wish::Match(call) | Wish::DiePending(call) => self.calls.push(call.id.clone()),
            Wish::Cancel(id) => self.calls.push(id.clone()),
            _ => {}
        }
        let queue = &self.queue;
        let mut response = match &operation.wish {
            Wish::Register(id, name, profile) => changed(&queue.register(id, name, profile).await?),
            Wish::Available(id) => changed(&queue.become_available(id).await?),
            Wish::Leave(id, rest) => changed(&queue.leave(id, *rest).await?),
            Wish::Finish(id, call, ticket) => {
                let ticket = self.real(*ticket);
                changed(&queue.finish(id, call, ticket).await?)
            }
            Wish::Extend(id, call, ticket) => {
                let ticket = self.real(*ticket);
                changed(&queue.extend(id, call, ticket).await?)
            }
            Wish::Enqueue(id) => {
                let enqueued = queue.enqueue(id).await?;
                changed(&enqueued.changed)
                    .showing(enqueued.assignments.iter().map(rows::assigned))
                    .counting("expired", enqueued.expired)
            }
            Wish::EnqueueAll => {
                let all = queue.enqueue_all_available().await?;
                Response::said("done")
                    .showing(all.assignments.iter().map(rows::assigned))
                    .counting("queued", u64::try_from(all.queued)?)
                    .counting("expired", all.expired)
            }
            Wish::Match(call) => {
                let matched = queue.match_call(call).await?;
                state(&matched.state)
                    .showing(matched.assignments.iter().map(rows::assigned))
                    .counting("queued", matched.queued)
                    .counting("expired", matched.expired)
            }
            Wish::Cancel(id) => {
                let cancel = queue.cancel(id).await?;
                let (assignments, expired) = match &cancel {
                    Cancel::Done {
                        assignments,
                        expired,
                    } => (assignments.clone(), *expired),
                    Cancel::Is(_) => (vec![], 0),
                };
                state(&cancel.state())
                    .showing(assignments.iter().map(rows::assigned))
                    .counting("expired", expired)
            }
            Wish::Tell(assignments, heard) => self.publish(assignments, *heard).await?,
            Wish::Sweep(heard) => self.sweep(*heard).await?,
            Wish::DieEnqueuing(id) => {
                let agent = self.store.agent(id).await?;
                self.die_enqueuing(agent, operation.now).await?
            }
            Wish::DiePending(call) => self.die_pending(call).await?,
            look => self.look(look).await?,
        };
        response.heard = self
            .publisher
            .heard()
            .into_iter()
            .map(|event| {
                let at = operation.now;
                rows::outbox_entry(&OutboxEntry { at, event })
            })
            .collect();
        Ok(response)
    }

    async fn look(&self, wish: &Wish) -> Result<Response, Failure> {
        Ok(match wish {
            Wish::Call(id) => match self.queue.call(id).await? {
                None => Response::said("unknown"),
                Some(record) => {
                    Response::said(record.state.as_str()).showing([rows::record(&record)])
                }
            },
            Wish::Queues => {
                let queues = self.queue.queues().await?.into_iter();
                let queues = queues.map(|is| table::named(&is.queue, rows::queue(&is)));
                let pending = self.queue.pending().await?.into_iter();
                let pending = pending.map(|is| table::named(&is.criteria, rows::pending(is.depth)));
                Response::said("done").showing(queues).showing(pending)
            }
            Wish::Agents(after, limit) => {
                let page = self.queue.agents(after.as_ref(), *limit).await?;
                Response::said("done").showing(page.agents.iter().map(rows::agent))
            }
            other => return Err(format!("{} is not a read", other.name()).into()),
        })
    }

    fn hear(&self, heard: bool) {
        match heard {
            true => self.publisher.fail_for(&[]),
            false => self.publisher.fail(),
        }
    }

    async fn publish(&self, assignments: &[Assignment], heard: bool) -> Result<Response, Failure> {
        self.hear(heard);
        let real = |made: &Assignment| Assignment {
            ticket: self.real(made.ticket),
            ..made.clone()
        };
        let assignments: Vec<_> = assignments.iter().map(real).collect();
        let published = self
            .queue
            .publish_assignments(&self.publisher, &assignments);
        let published = published.await?;
        Ok(Response::said("done")
            .counting("published", published.published)
            .counting("failed", published.failed))
    }

    async fn sweep(&self, heard: bool) -> Result<Response, Failure> {
        self.hear(heard);
        let swept = self.queue.sweep(&self.publisher).await?;
        Ok(Response::said("done")
            .counting("returned", swept.returned)
            .counting("calls_returned", swept.calls_returned)
            .counting("undone", swept.undone)
            .counting("assigned", swept.assigned)
            .counting("expired", swept.expired)
            .counting("published", swept.published)
            .counting("dead_lettered", swept.dead_lettered)
            .counting("untold", swept.untold)
            .counting("queued_agents", swept.queued_agents)
            .counting("pending_calls", swept.pending_calls)
            .counting("oldest", swept.oldest_pending_micros)
            .counting("complete", swept.complete))
    }

    async fn die_enqueuing(&self, agent: Option<Agent>, now: Micros) -> Result<Response, Failure> {
        if let Some(agent) = agent {
            let dimensions = &self.queue.settings().dimensions;
            if let Ok(change) = agent.enqueue(now, dimensions) {
                self.store.commit(&Change::enqueue(change, &agent)).await?;
            }
        }
        Ok(Response::said("died"))
    }

    async fn die_pending(&self, call: &Call) -> Result<Response, Failure> {
        self.store.open_line(&call.criteria, call.arrived).await?;
        self.store.commit(&Change::wait(call)).await?;
        Ok(Response::said("died"))
    }

    /// Returns the entire content of the store, with the store's tickets.
    pub async fn rows(&self) -> Result<Rows, Failure> {
        match &self.seen {
            Seen::ByStore => Ok(rows::stored(&*self.store, &self.calls).await?),
            Seen::ByScan(client) => rows::scanned(client).await,
        }
    }

    /// Maps the store's new tickets to the reference's numbers. Each agent's row has one ticket.
    pub fn learn(&mut self, stored: &Rows, expected: &Rows) {
        for (key, row) in stored
            .iter()
            .filter(|((pk, _), _)| pk.starts_with("Agents#"))
        {
            let (Some(real), Some(number)) = (ticket(Some(row)), ticket(expected.get(key))) else {
                continue;
            };
            let taken = self.numbers.values().any(|known| *known == number);
            if !taken {
                self.numbers.entry(real.to_string()).or_insert(number);
            }
        }
    }

    /// Replaces the store's tickets in a row with the reference's.
    pub fn numbered(&self, row: &mut Row) {
        for text in row.get_mut("Ticket").into_iter().flatten() {
            if let Some(number) = self.numbers.get(text) {
                *text = number.to_string();
            }
        }
    }

    /// Returns the store's ticket for a number. A forged ticket is unmapped and remains unchanged.
    fn real(&self, number: Ticket) -> Ticket {
        let known = self.numbers.iter().find(|(_, known)| **known == number);
        let real = known.and_then(|(real, _)| Uuid::parse_str(real).ok());
        real.map_or(number, Ticket)
    }
}

fn ticket(row: Option<&Row>) -> Option<Ticket> {
    let text = row?.get("Ticket")?.first()?;
    Uuid::parse_str(text).ok().map(Ticket)
}

fn changed(changed: &Changed) -> Response {
    match changed {
        Changed::Done(agent) => Response::said("done").showing([rows::agent(agent)]),
        Changed::Rejected { agent, .. } => Response::said("rejected").showing([rows::agent(agent)]),
        Changed::Unknown => Response::said("unknown"),
    }
}

fn state(state: &CallState) -> Response {
    let shown = match state {
        CallState::Assigned(made) => Some(rows::assigned(made)),
        _ => None,
    };
    Response::said(state.as_str()).showing(shown)
}
