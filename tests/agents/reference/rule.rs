//! The rules: every possible outcome of a request.

use sequences::rules;

rules! {
    RegisterNew: "register: new -> offline";
    RegisterAgain: "register: another profile, and another ticket";
    RegisterAttending: "register: another profile in a call, whose ticket stays";
    RegisterQueued: "register: rejected, the entries would describe an outdated profile";

    Available: "available: offline -> available";
    AvailableRejected: "available: rejected, not offline";
    AvailableUnknown: "available: no agent of this id";

    Enqueue: "enqueue: available -> queued, and no call is pending";
    EnqueueTakes: "enqueue: available -> attendingCall, a call was pending";
    EnqueueServes: "enqueue: available -> queued -> attendingCall, two calls and an agent were left by a crash";
    EnqueueServesOthers: "enqueue: a call was pending, and another agent had waited for longer";
    EnqueueExpires: "enqueue: calls that fit had waited for too long";
    EnqueueAgain: "enqueue: rejected, queued already";
    EnqueueAgainServes: "enqueue: rejected, but a call left by a crash is assigned";
    EnqueueRejected: "enqueue: rejected, not available";
    EnqueueUnknown: "enqueue: no agent of this id";
    EnqueueAll: "queue all available: in the order in which they became so";

    LeaveQueues: "leave: queued -> available, out of every queue";
    LeaveQueuesHome: "leave: queued -> offline, out of every queue";
    LeaveHome: "leave: available -> offline";
    LeaveRejected: "leave: rejected, no such transition";
    LeaveUnknown: "leave: no agent of this id";

    Match: "match: a new call is assigned immediately";
    MatchWildcard: "match: a new call of a wildcard is assigned immediately";
    MatchWaits: "match: a new call becomes pending, no agent matches";
    MatchBehind: "match: a new call waits behind others";
    MatchServesOthers: "match: pending calls of the same criteria are served";
    MatchExpiresOthers: "match: pending calls of the same criteria had expired";
    MatchKnown: "match: a call that ended gets its first response again";
    MatchKnownWaits: "match: a pending call is matched again";
    MatchTooLate: "match: a call that arrives too late is expired";
    MatchTooLatePending: "match: a pending call is redelivered too late, and is expired";

    Cancel: "cancel: pending -> cancelled";
    CancelKnown: "cancel: the call ended otherwise, and stays so";
    CancelUnanswered: "cancel: assigned -> cancelled and attendingCall -> queued, no answer yet";
    CancelServes: "cancel: assigned -> cancelled, and the agent gets a pending call";
    CancelEarly: "cancel: a call that has not arrived is cancelled";

    Finish: "finish: attendingCall -> available, by call and ticket";
    FinishLate: "finish: rejected, the agent is in another call or in none";
    FinishForged: "finish: rejected, the call is the agent's and the ticket is not";
    FinishUnknown: "finish: no agent of this id";

    ExtendAnswers: "extend: the agent answers, and has another lease";
    ExtendAgain: "extend: the agent had answered, and has another lease";
    ExtendRejected: "extend: rejected, another call or another ticket";
    ExtendUnknown: "extend: no agent has this id";

    Tell: "tell: published, and deleted from the outbox";
    TellFails: "tell: not published, and kept in the outbox";

    Sweep: "sweep: nothing to do";
    SweepReturns: "sweep: attendingCall -> available, the lease expired";
    SweepReturnsCalls: "sweep: attendingCall -> available and assigned -> pending, no answer";
    SweepUndoes: "sweep: attendingCall -> queued and assigned -> pending, not published in time";
    SweepServes: "sweep: a call left by a crash is assigned";
    SweepExpires: "sweep: pending -> expired";
    SweepTells: "sweep: unpublished events are published";
    SweepFails: "sweep: unpublished events fail to be published again";

    DiedEnqueuing: "died: an agent is queued, and the pending calls are not read";
    DiedPending: "died: a call is pending, and the queues are not read";
    DiedInVain: "died: before anything was written";

    LookCall: "call: its outcome";
    LookUnknown: "call: there is none";
    LookQueues: "queues: depths, versions, and numbers of pending calls";
    LookAgents: "agents: a page";
}
