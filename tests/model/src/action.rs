//! The events of the model.

use crate::state::{Message, TaskNumber};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    Works,
    /// The step takes effect, but the response is lost, and the caller repeats the step.
    ResponseLost,
    /// The step has no effect, and the caller gets an error.
    Fails,
}

/// An event in the world. Processor slots and wakers are identified by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Insert,
    /// A writer puts a newer state of the task's key.
    Replace(TaskNumber),
    IndexCatchesUp(TaskNumber),
    DeliverBatch(u8),
    DeliverTailCall,
    /// A waker takes its next step (rules 1 and 9).
    Wake(u8, Fate),
    CrashWaker(u8),
    /// A message starts a processor.
    Deliver(Message),
    /// A message will be delivered once more.
    Duplicate(Message),
    Lose(Message),
    /// A tail call will be delivered once more.
    DuplicateTailCall,
    LoseTailCall,
    /// A processor takes its next step (rules 2 to 7).
    Process(u8, Fate),
    /// A processor returns its running task instead of settling it.
    Return(u8, Fate),
    /// A processor's heartbeat renews its lease, or is rejected (rule 2).
    Heartbeat(u8),
    /// A processor determines by its own clock that its lease has expired (rule 2).
    NoticeLeaseEnd(u8),
    /// A processor's turn reaches its time limit before the queue is empty (rule 6).
    TimeUp(u8),
    CrashProcessor(u8),
    ProcessorLeaseEnds,
    TaskLeaseEnds(TaskNumber),
    MarkerEnds,
    /// The sweep reads a TAKEN task whose lease has expired (rule 8).
    SweepReads(TaskNumber),
    /// The sweep returns the task that it read (rule 8).
    SweepReturns,
    /// The sweep sees a due task and no active processor, and requests a wake-up (rule 8).
    SweepWakes,
}
