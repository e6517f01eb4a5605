//! Everything that can happen next.

use crate::state::{Message, TaskNumber};

/// How a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// As it should.
    Works,
    /// It has its effect, but the answer is lost, and the caller repeats it.
    ResponseLost,
    /// It has no effect, and the caller sees the error.
    Fails,
}

/// One event in the world. Slots and wakers are named by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A writer inserts the next task.
    Insert,
    /// A writer puts a newer state of the task's key.
    Replace(TaskNumber),
    /// The index shows a task as the table has it.
    IndexCatchesUp(TaskNumber),
    /// The stream hands this many records to `trigger`.
    DeliverBatch(u8),
    /// The trigger topic hands a tail call to `trigger`.
    DeliverTailCall,
    /// A waker takes its next step (rules 1 and 9).
    Wake(u8, Fate),
    /// A waker dies.
    CrashWaker(u8),
    /// A message starts a processor.
    Deliver(Message),
    /// A message will be delivered once more.
    Duplicate(Message),
    /// A message is lost.
    Lose(Message),
    /// A tail call will be delivered once more.
    DuplicateTailCall,
    /// A tail call is lost.
    LoseTailCall,
    /// A processor takes its next step (rules 2 to 7).
    Process(u8, Fate),
    /// A processor gives the task that it ran back, instead of settling it.
    GiveBack(u8, Fate),
    /// A processor's heartbeat renews its lease, or finds that it cannot (rule 2).
    Heartbeat(u8),
    /// A processor finds by its own clock that its lease has expired (rule 2).
    NoticeLeaseEnd(u8),
    /// A processor's turn is over before the queue is empty (rule 6).
    TimeUp(u8),
    /// A processor dies.
    CrashProcessor(u8),
    /// The processor lease expires.
    ProcessorLeaseEnds,
    /// The lease on a task expires.
    TaskLeaseEnds(TaskNumber),
    /// The start marker expires (rule 9).
    MarkerEnds,
    /// The sweep reads a TAKEN task whose lease has expired (rule 8).
    SweepReads(TaskNumber),
    /// The sweep returns the task that it has read (rule 8).
    SweepReturns,
    /// The sweep sees a due task and no active processor, and requests a wake-up (rule 8).
    SweepWakes,
}
