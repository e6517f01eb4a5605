//! A snapshot of the world: the table, its index, everything in flight, and the active processes.
//!
//! Two abstractions keep the world small without losing behaviour:
//!
//! - The control item's `requested` counter only grows, and the protocol only compares it with the
//!   value that a processor remembers. The counter itself is therefore not stored. Each processor
//!   has [`Processor::requested_moved`] instead.
//! - Time is not a number. A lease is either live or expired, and its expiry is an action.

pub use crate::table::{Control, EventId, MessageId, Owner, Status, Task, TaskNumber};

/// Maximum number of tasks in a world.
pub const MOST_TASKS: usize = 4;
/// Number of `process-tasks` invocations that can overlap.
pub const SLOTS: usize = 2;

/// A message that is being delivered to `process-tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// Id of the message, which is the same in every delivery.
    pub id: MessageId,
    /// Number of redeliveries that remain after failed attempts.
    pub retries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A batch of stream records, which is retried until it succeeds.
    Stream,
    /// A tail call, which is tried once.
    TailCall,
    /// The sweep, which is tried once. The next sweep runs a minute later.
    Sweep,
    /// A processor that returned a task after another processor had acquired the lease. If the
    /// request fails, the platform redelivers the processor's message.
    LateReturn(Message),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WakerStep {
    /// Read the control item before writing it. Only a broken protocol does this.
    ReadFirst,
    /// Add 1 to `requested`, and read the item in the same write.
    Add {
        /// Whether [`WakerStep::ReadFirst`] saw a live lease.
        saw_live: Option<bool>,
    },
    /// Set the start marker.
    Mark,
    /// Publish to the process topic.
    Publish,
}

/// An execution of rule 1 by `trigger`, by the sweep, or by a processor after a late return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Waker {
    pub source: Source,
    pub event: EventId,
    pub step: WakerStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Acquire the processor lease (rules 2 and 3).
    Acquire,
    /// Query the index for the newest PENDING task older than `below` (rule 4).
    Look {
        /// Exclusive bound. At the start of a pass, it is the number of tasks.
        below: TaskNumber,
        /// Whether this pass follows a completed wait (rule 5).
        lingered: bool,
    },
    /// Take a task that the query returned.
    Take {
        task: TaskNumber,
        /// Whether this pass follows a completed wait, as in [`Step::Look`].
        lingered: bool,
    },
    /// Run a taken task, then settle or return it.
    Run {
        task: TaskNumber,
        /// False once the task lease has expired, or once the run has ended and only its last
        /// request is repeated.
        live: bool,
    },
    /// Wait until the index shows everything that was written before the wait started (rule 5).
    Linger {
        /// Bit set of the tasks whose last change the index does not show yet.
        awaits: u8,
    },
    /// Release the lease after an empty pass (rule 5).
    Release,
    /// Release the lease because the time is up (rule 6).
    ReleaseForTailCall,
    /// Publish the tail call (rule 6).
    TailCall,
    /// Release after the tail call. Only a broken protocol does this.
    ReleaseAfterTailCall,
}

/// How a processor learned that it has lost the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostLease {
    /// A renewal was rejected: the control item names another owner, or none.
    Rejected,
    /// No renewal succeeded in time, so the lease has expired by the processor's own clock.
    Expired,
}

/// One invocation attempt of `process-tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Processor {
    pub step: Step,
    pub message: Message,
    /// The owner that the attempt writes to the control item.
    pub owner: Owner,
    /// Whether `requested` differs from `seen`.
    pub requested_moved: bool,
    /// Whether the processor lease that the attempt wrote last is still live.
    pub holds: bool,
    /// How the attempt learned that it lost the lease. Afterwards, it takes no more tasks (rule 2).
    pub lost_lease: Option<LostLease>,
    /// Whether this turn returned a task.
    pub returned: bool,
    /// Whether this turn settled a task (rule 10).
    pub settled: bool,
    /// Whether this turn ran a task, if starts are rate-limited (rule 10).
    pub ran: bool,
    /// Whether the attempt returned a task after it had lost the lease. Only
    /// [`crate::processor::fail`] reads it, for [`History::lost`].
    pub returned_late: bool,
}

/// The remaining number of faults of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Budget {
    pub crashes: u8,
    pub losses: u8,
    /// Number of messages that are delivered once more.
    pub duplicates: u8,
    /// Number of writes that take effect although the writer gets no response and repeats them.
    pub lost_responses: u8,
    pub errors: u8,
    /// Number of processor leases that expire while their holder is active.
    pub slow_processors: u8,
    /// Number of task leases that expire while their holder is active.
    pub slow_runs: u8,
    /// Number of tasks that are returned instead of settled.
    pub returns: u8,
    /// Number of turns that end before the queue is empty. Can be [`Budget::UNLIMITED`].
    pub time_ups: u8,
    pub marker_ends: u8,
    pub newer_states: u8,
    /// Number of sweeps in states that are not quiet. Sweeps in quiet states are always possible.
    pub early_sweeps: u8,
}

impl Budget {
    /// A fault budget that is never used up.
    pub const UNLIMITED: u8 = u8::MAX;
}

/// Past events that the properties need. The protocol does not read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct History {
    /// Whether a wake-up that only the sweep can replace was lost.
    pub lost: bool,
    /// Whether a worker crashed while its task was TAKEN.
    pub stranded: bool,
    /// Whether a process changed a settled task or a task of another lease.
    pub trespass: bool,
    /// Whether a newer state of a key was settled without a run.
    pub lost_state: bool,
    /// Number of notifications that `trigger` published, if the protocol counts them.
    pub published: u8,
    /// Number of acquired leases, if the protocol counts them.
    pub acquired: u8,
    /// Consecutive tail calls by turns without a settled task.
    pub idle_tail_calls: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The tasks, oldest first. Tasks beyond the world's size remain absent.
    pub tasks: [Task; MOST_TASKS],
    pub control: Control,
    /// Number of INSERT records that have not been delivered yet.
    pub stream: u8,
    /// Number of tail calls on the trigger topic.
    pub tail_calls: u8,
    /// Messages on the process topic, and failed messages that will be redelivered, sorted.
    pub messages: Vec<Message>,
    /// Executions of rule 1, sorted.
    pub wakers: Vec<Waker>,
    pub processors: [Option<Processor>; SLOTS],
    /// A TAKEN task whose lease had expired when the sweep read the task, with the token that the
    /// sweep read.
    pub sweeping: Option<(TaskNumber, Owner)>,
    pub budget: Budget,
    pub history: History,
}

impl State {
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

    /// Ends a task's run with `status`, or with PENDING if a newer state was written during the
    /// run. Returns the new status.
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

    /// Records that the index shows the task's current state. Processors stop waiting for the task.
    pub fn no_longer_awaited(&mut self, task: TaskNumber) {
        for processor in self.processors.iter_mut().flatten() {
            if let Step::Linger { awaits } = &mut processor.step {
                *awaits &= !(1 << task);
            }
        }
    }

    /// Returns the bit set of the tasks whose current state the index does not show yet.
    pub fn lagging(&self) -> u8 {
        let lagging = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.lags());
        lagging.fold(0, |set, (number, _)| set | 1 << number)
    }

    /// Whether nothing is in flight and no process is active. Then only the sweep or an insert can
    /// start a process.
    pub fn quiet(&self) -> bool {
        self.stream == 0
            && self.tail_calls == 0
            && self.messages.is_empty()
            && self.wakers.is_empty()
            && self.processors.iter().all(Option::is_none)
            && self.sweeping.is_none()
    }

    pub fn fresh_event(&self) -> EventId {
        let known = |id| {
            self.control.marker == Some(id) || self.wakers.iter().any(|waker| waker.event == id)
        };
        (0..).find(|&id| !known(id)).unwrap_or(EventId::MAX)
    }

    pub fn fresh_message(&self) -> MessageId {
        let registered = self.control.owner.map(|(_, message)| message);
        (0..)
            .find(|&id| registered != Some(id) && self.copies(id) == 0)
            .unwrap_or(MessageId::MAX)
    }

    /// Returns the number of deliveries of a message that are pending or in progress.
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

    /// Records that a delivery of a message will not happen. The message is lost unless another
    /// delivery follows or the registered owner is active. An active owner queries again, or its
    /// own message is retried.
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

    pub fn put_message(&mut self, message: Message) {
        self.messages.push(message);
        self.messages.sort_unstable();
    }

    pub fn put_waker(&mut self, waker: Waker) {
        self.wakers.push(waker);
        self.wakers.sort_unstable();
    }
}
