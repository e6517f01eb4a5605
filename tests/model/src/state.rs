//! One snapshot of the world: the table, its index, what is in flight, and who is working.
//!
//! Two abstractions keep the world small without losing behaviour:
//!
//! - The `requested` counter of the control item only ever grows, and the protocol only ever asks
//!   whether it *moved* since a processor remembered it. So the counter itself is not kept; each
//!   processor carries [`Processor::requested_moved`] instead.
//! - Time is not a number. A lease is live or has expired; expiring is an action.

pub use crate::table::{Control, EventId, MessageId, Owner, Status, Task, TaskNumber};

/// Most tasks a world can hold.
pub const MOST_TASKS: usize = 4;
/// Invocations of `process-tasks` that can overlap.
pub const SLOTS: usize = 2;

/// A message on its way to `process-tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// The same in every delivery.
    pub id: MessageId,
    /// Deliveries the platform would still make after a failed attempt.
    pub retries: u8,
}

/// Where the event came from that a waker handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A batch of stream records. It is retried until it succeeds.
    Stream,
    /// A tail call. It is tried once.
    TailCall,
    /// The sweep. It is tried once, and looks again a minute later.
    Sweep,
    /// A processor that gave a task back when the lease was another's; if it fails, the message
    /// that started it is delivered again.
    LateGiveBack(Message),
}

/// What a waker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WakerStep {
    /// Read the control item before writing it. Only a wrong protocol does this.
    ReadFirst,
    /// Add to `requested`, reading the item back.
    Add {
        /// The live lease seen by [`WakerStep::ReadFirst`].
        saw_live: Option<bool>,
    },
    /// Set the start marker.
    Mark,
    /// Publish to the process topic.
    Publish,
}

/// An execution of rule 1: an invocation of `trigger`, or the waking half of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Waker {
    /// What it handles.
    pub source: Source,
    /// The identity of what it handles.
    pub event: EventId,
    /// What it does next.
    pub step: WakerStep,
}

/// What a processor does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Acquire the processor lease (rules 2 and 3).
    Acquire,
    /// Query the index for the newest PENDING task older than `below` (rule 4).
    Look {
        /// Exclusive bound; the number of tasks at the start of a pass.
        below: TaskNumber,
        /// Whether this pass follows a completed linger (rule 5).
        lingered: bool,
    },
    /// Take a task that the query returned.
    Take {
        /// Which.
        task: TaskNumber,
        /// As in [`Step::Look`].
        lingered: bool,
    },
    /// Run a task that was taken, then settle it or give it back.
    Run {
        /// Which.
        task: TaskNumber,
        /// False once the lease on the task has expired, or the run is over and only the call
        /// that settles it is repeated.
        live: bool,
    },
    /// Wait until the index shows everything written before the wait began (rule 5).
    Linger {
        /// Bit set of the tasks whose last change the index has yet to show.
        awaits: u8,
    },
    /// Release the lease, having found nothing (rule 5).
    Release,
    /// Release the lease, time being up (rule 6).
    ReleaseForTailCall,
    /// Publish the tail call (rule 6).
    TailCall,
    /// Release after the tail call. Only a wrong protocol does this.
    ReleaseAfterTailCall,
}

/// How a processor learnt that it holds the lease no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostLease {
    /// A renewal was rejected: the control item names another owner, or none.
    Refused,
    /// By its own clock the lease has expired, and no renewal has got through.
    RanOut,
}

/// One invocation attempt of `process-tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Processor {
    /// What it does next.
    pub step: Step,
    /// The message that started it.
    pub message: Message,
    /// Its own idea of who it is.
    pub owner: Owner,
    /// Whether `requested` differs from `seen`.
    pub requested_moved: bool,
    /// Whether the processor lease that it wrote last has not expired yet.
    pub holds: bool,
    /// Why it takes nothing more, when it knows that it has lost the lease (rule 2).
    pub lost_lease: Option<LostLease>,
    /// Whether this turn gave a task back.
    pub gave_back: bool,
    /// Whether this turn settled a task (rule 10).
    pub settled: bool,
    /// Whether this turn ran a task, where the starts are limited (rule 10).
    pub ran: bool,
    /// Whether it gave a task back when the lease was no longer its own. Only
    /// [`crate::property`] asks, when it dies.
    pub gave_back_late: bool,
}

/// How many faults of each kind may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Budget {
    /// Invocations that die between two steps.
    pub crashes: u8,
    /// Messages that vanish from a topic.
    pub losses: u8,
    /// Messages that are delivered once more.
    pub duplicates: u8,
    /// Writes that are applied although the writer sees an error and repeats them.
    pub lost_responses: u8,
    /// Publishes that fail without effect.
    pub errors: u8,
    /// Processor leases that expire while their holder still works.
    pub slow_processors: u8,
    /// Task leases that expire while their holder still works.
    pub slow_runs: u8,
    /// Tasks that are returned instead of settled.
    pub give_backs: u8,
    /// Turns that end before the queue is empty; [`Budget::UNLIMITED`] for any number.
    pub time_ups: u8,
    /// Start markers that expire.
    pub marker_ends: u8,
    /// Newer states of keys that writers put.
    pub newer_states: u8,
    /// Sweeps that come while something else is going on. When all is quiet, the sweep always comes.
    pub early_sweeps: u8,
}

impl Budget {
    /// A budget that is never used up.
    pub const UNLIMITED: u8 = u8::MAX;
}

/// What happened, as far as a property must know it. The protocol does not read this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct History {
    /// Something was lost that only the sweep finds; each place that sets it says what.
    pub lost: bool,
    /// A worker died holding a task.
    pub stranded: bool,
    /// A process changed a task of another lease, or a settled one.
    pub trespass: bool,
    /// A newer state of a key was settled without a run.
    pub lost_state: bool,
    /// Notifications that `trigger` published, where the protocol counts them.
    pub published: u8,
    /// Leases acquired, where the protocol counts them.
    pub acquired: u8,
    /// Consecutive tail calls by turns that settled nothing.
    pub idle_tail_calls: u8,
}

/// One snapshot of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The tasks, oldest first; those beyond the world's size stay absent.
    pub tasks: [Task; MOST_TASKS],
    /// The control item.
    pub control: Control,
    /// INSERT records that no batch has picked up.
    pub stream: u8,
    /// Tail calls on the trigger topic.
    pub tail_calls: u8,
    /// Messages on the process topic, and failed ones that will be delivered again; sorted.
    pub messages: Vec<Message>,
    /// Executions of rule 1; sorted.
    pub wakers: Vec<Waker>,
    /// Invocations of `process-tasks`.
    pub processors: [Option<Processor>; SLOTS],
    /// A TAKEN task whose lease had expired when the sweep read it, and the token it carried.
    pub sweeping: Option<(TaskNumber, Owner)>,
    /// Faults that may still happen.
    pub budget: Budget,
    /// What happened.
    pub history: History,
}

impl State {
    /// An empty queue.
    pub fn new(budget: Budget) -> Self {
        Self {
            tasks: [Task {
                status: Status::Absent,
                shown: false,
                overtaken: false,
            }; MOST_TASKS],
            control: Control::default(),
            stream: 0,
            tail_calls: 0,
            messages: Vec::new(),
            wakers: Vec::new(),
            processors: [None; SLOTS],
            sweeping: None,
            budget,
            history: History::default(),
        }
    }

    /// Ends the run of a task: as `status` says, or PENDING if a newer state came meanwhile. Says
    /// what the task is then.
    pub fn end_run(&mut self, task: TaskNumber, status: Status) -> Status {
        let overtaken = std::mem::take(&mut self.tasks[task as usize].overtaken);
        let status = if overtaken { Status::Pending } else { status };
        self.write(task, status);
        status
    }

    /// Changes a task in the table. The index follows later.
    pub fn write(&mut self, task: TaskNumber, status: Status) {
        self.tasks[task as usize].status = status;
        if !self.tasks[task as usize].lags() {
            self.no_longer_awaited(task);
        }
    }

    /// The index shows the task as the table has it, so no processor waits for it any longer.
    pub fn no_longer_awaited(&mut self, task: TaskNumber) {
        for processor in self.processors.iter_mut().flatten() {
            if let Step::Linger { awaits } = &mut processor.step {
                *awaits &= !(1 << task);
            }
        }
    }

    /// Bit set of the tasks that the index does not show as they are.
    pub fn lagging(&self) -> u8 {
        let lagging = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.lags());
        lagging.fold(0, |set, (number, _)| set | 1 << number)
    }

    /// Nothing in flight and no process active: only the sweep, or a new insert, could start anything.
    pub fn quiet(&self) -> bool {
        self.stream == 0
            && self.tail_calls == 0
            && self.messages.is_empty()
            && self.wakers.is_empty()
            && self.processors.iter().all(Option::is_none)
            && self.sweeping.is_none()
    }

    /// A new event id.
    pub fn fresh_event(&self) -> EventId {
        let known = |id| {
            self.control.marker == Some(id) || self.wakers.iter().any(|waker| waker.event == id)
        };
        (0..).find(|&id| !known(id)).unwrap_or(EventId::MAX)
    }

    /// A new message id.
    pub fn fresh_message(&self) -> MessageId {
        let registered = self.control.owner.map(|(_, message)| message);
        (0..)
            .find(|&id| registered != Some(id) && self.copies(id) == 0)
            .unwrap_or(MessageId::MAX)
    }

    /// Deliveries of a message that are to come or being worked on.
    pub fn copies(&self, id: MessageId) -> usize {
        let waiting = self
            .messages
            .iter()
            .filter(|message| message.id == id)
            .count();
        let running = self
            .processors
            .iter()
            .flatten()
            .filter(|p| p.message.id == id)
            .count();
        waiting + running
    }

    /// A delivery of a message will not come. It is a loss, unless another delivery is to come, or
    /// the registered holder is active, and will look again or have its own message retried.
    pub fn message_is_gone(&mut self, id: MessageId) {
        let comes = self.messages.iter().any(|message| message.id == id);
        let mut attempts = self.processors.iter().flatten();
        let arrives = attempts.any(|p| p.message.id == id && p.step == Step::Acquire);
        let mut attempts = self.processors.iter().flatten();
        let works = attempts.any(|p| {
            self.control
                .owner
                .is_some_and(|(owner, _)| owner == p.owner)
        });
        self.history.lost |= !(comes || arrives || works);
    }

    /// Adds a message to the process topic.
    pub fn put_message(&mut self, message: Message) {
        self.messages.push(message);
        self.messages.sort_unstable();
    }

    /// Adds an execution of rule 1.
    pub fn put_waker(&mut self, waker: Waker) {
        self.wakers.push(waker);
        self.wakers.sort_unstable();
    }
}
