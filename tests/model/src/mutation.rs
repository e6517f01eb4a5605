//! Wrong rules. Each one breaks a protocol rule, and a test shows that the checker finds the
//! violation. Without these tests, a model that detects nothing would also pass.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// Rule 1: a waker that sees a live lease does not count its request.
    RequestWithoutAdd,
    /// Rule 1: a waker decides based on a lease that it read before it counted its request.
    LeaseReadBeforeAdd,
    /// Rule 1: `trigger` logs a failed publish and succeeds.
    PublishErrorSwallowed,
    /// Rule 1: a processor that lost its lease does not request a wake-up, although it returned a task.
    LateReturnUnannounced,
    /// Rule 2: the owner is the message id, which is the same in a redelivery.
    OwnerIsMessageId,
    /// Rule 2: a processor acquires another processor's live lease.
    AcquireOverLiveLease,
    /// Rule 2: a processor whose lease expired by its own clock ends without a tail call.
    LeavesWhenLeaseExpired,
    /// Rule 3: an attempt that finds a live lease with its own message id ends without an error.
    BusyWithOwnMessageLeaves,
    /// Rule 4: a page that yields no take counts as the end of the index.
    OnePageCountsAsEmpty,
    /// Rule 4: a take whose response was lost is not recognized when it is repeated.
    OwnTakeNotRecognised,
    /// Rule 4: a take does not require that the task is PENDING.
    TakeWithoutStatus,
    /// Rule 4: a settle does not require its own token.
    SettleWithoutToken,
    /// Rule 5: one empty query is enough, without a wait for the index.
    NoLinger,
    /// Rule 5: the release does not compare `requested` with `seen`.
    ReleaseIgnoresRequested,
    /// Rule 5: each heartbeat sets `seen` to `requested`.
    SeenRenewedByHeartbeat,
    /// Rule 5: each query sets `seen` to `requested`.
    SeenRenewedByQuery,
    /// Rule 6: the tail call is published before the release.
    TailCallBeforeRelease,
    /// Rule 6: a rejected release ends the turn without a tail call.
    NoTailCallAfterRejectedRelease,
    /// Rule 6: a tail call whose publish fails is logged, and the invocation succeeds.
    TailCallErrorSwallowed,
    /// Rule 1: a newer state of a settled key is written without a wake-up request.
    NewerStateUnannounced,
    /// Rule 1: a newer state of a pending key moves in the index without a wake-up request.
    MoveUnannounced,
    /// Rule 1: a processor that lost its lease does not request a wake-up, although the end of its
    /// run left the key PENDING.
    OvertakenEndUnannounced,
    /// Rule 4: a settle ignores a newer state that was written during the run.
    SettleOverNewerState,
    /// Rule 8: the sweep returns a task without requiring the lease that it read.
    SweepWithoutCondition,
    /// Rule 8: the sweep returns tasks but does not wake a processor.
    SweepNeverWakes,
    /// Rule 9: there is no start marker.
    NoMarker,
    /// Rule 9: the marker also stops its own event.
    MarkerWithoutOwner,
    /// Rule 9: a release does not delete the marker.
    MarkerKeptByRelease,
    /// Rule 10: the number of turns without a settled task is not bounded.
    NoIdleBound,
    /// Rule 10: a turn that only waited for the rate limit resets the count to zero.
    WaitIsProgress,
}
