//! Wrong rules. Each breaks one rule of the protocol, and for each a test shows that the checker
//! finds the harm; without them, a passing run could mean that the model sees nothing.

/// One way to get the protocol wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// Rule 1: a waker that sees a live lease does not count its request.
    RequestWithoutAdd,
    /// Rule 1: a waker decides by a lease that it read before it counted its request.
    LeaseReadBeforeAdd,
    /// Rule 1: `trigger` logs a failed publish, and succeeds.
    PublishErrorSwallowed,
    /// Rule 1: a processor that lost its lease leaves quietly, though it gave a task back.
    LateGiveBackUnannounced,
    /// Rule 2: the owner is the message id, which a redelivery shares.
    OwnerIsMessageId,
    /// Rule 2: a live lease of another is taken over.
    AcquireOverLiveLease,
    /// Rule 2: a processor whose lease expired by its own clock leaves quietly.
    LeavesWhenLeaseRanOut,
    /// Rule 3: an attempt that finds its own message in a live lease leaves quietly.
    BusyWithOwnMessageLeaves,
    /// Rule 4: a page that yields no take counts as the end of the index.
    OnePageCountsAsEmpty,
    /// Rule 4: a take whose answer was lost is not recognised when it is repeated.
    OwnTakeNotRecognised,
    /// Rule 4: a take does not ask whether the task is still PENDING.
    TakeWithoutStatus,
    /// Rule 4: a settle does not ask for its own token.
    SettleWithoutToken,
    /// Rule 5: no linger; an empty query is enough.
    NoLinger,
    /// Rule 5: the release does not compare `requested` with `seen`.
    ReleaseIgnoresRequested,
    /// Rule 5: each heartbeat remembers `requested` again.
    SeenRenewedByHeartbeat,
    /// Rule 5: each query remembers `requested` again.
    SeenRenewedByQuery,
    /// Rule 6: the tail call is published while the lease is still held.
    TailCallBeforeRelease,
    /// Rule 6: a rejected release ends the turn without a tail call.
    NoTailCallAfterRefusedRelease,
    /// Rule 6: a tail call that cannot be published is logged, and the invocation succeeds.
    TailCallErrorSwallowed,
    /// Rule 1: a newer state of a settled key is written without a wake-up request.
    NewerStateUnannounced,
    /// Rule 1: a newer state of a pending key moves in the index without a wake-up request.
    MoveUnannounced,
    /// Rule 1: a processor that lost its lease leaves quietly, though the run that it ended left
    /// the key PENDING.
    OvertakenEndUnannounced,
    /// Rule 4: a settle does not ask whether a newer state came during the run.
    SettleOverNewerState,
    /// Rule 8: the sweep returns a task without asking for the lease that it has read.
    SweepWithoutCondition,
    /// Rule 8: the sweep returns tasks, but wakes no processor.
    SweepNeverWakes,
    /// Rule 9: no start marker.
    NoMarker,
    /// Rule 9: the marker stops its own event, too.
    MarkerWithoutOwner,
    /// Rule 9: a release leaves the marker.
    MarkerKeptByRelease,
    /// Rule 10: no bound on turns that settle nothing.
    NoIdleBound,
    /// Rule 10: a turn that only waited for the rate limit sets the count to zero.
    WaitIsProgress,
}
