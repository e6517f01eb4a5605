//! The table's names, each once. `infra/contract/agents.ts` and `tests/contract.json` hold the same.

/// Partition key (S).
pub const PK: &str = "pk";
/// Sort key (S).
pub const SK: &str = "sk";

/// Partition of all agents; an agent's sort key is `Agent#<id>`.
pub const ALL_AGENTS: &str = "AllAgents";
/// Prefix of an agent's sort key.
pub const AGENT_PREFIX: &str = "Agent#";
/// Partition of all queues that were ever opened; the sort key is the queue's name.
pub const ALL_QUEUES: &str = "AllQueues";
/// Partition of the lines of waiting calls; the sort key is `C#<criteria>`.
pub const ALL_CRITERIA: &str = "AllCriteria";
/// Prefix of a partition of waiting calls, `C#<criteria>`.
pub const CRITERIA_PREFIX: &str = "C#";
/// Prefix of a call's partition.
pub const CALL_PREFIX: &str = "Call#";
/// Sort key of a call.
pub const CALL: &str = "Call";
/// Leases on calls, in the partitions `Leases#<stripe>`; the sort key is `<until>#<agent id>`.
pub const LEASES: &str = "Leases";
/// What is to be published, in the partitions `Outbox#<stripe>`; the sort key is
/// `<time>#<call id>`.
pub const OUTBOX: &str = "Outbox";
/// How often each queue was joined, in the items `Joins#<stripe>`/`Joins`: one number for each
/// queue, by the queue's name.
pub const JOINS: &str = "Joins";
/// Over how many partitions leases and the outbox are spread. It is part of the table.
pub const STRIPES: u8 = 16;
/// Over how many items joins are spread. It may grow, but never shrink.
pub const JOIN_STRIPES: u8 = 64;

/// An agent's name (S).
pub const AGENT_NAME: &str = "AgentName";
/// An agent's id (S).
pub const AGENT_ID: &str = "AgentID";
/// `offline`, `available`, `queued` or `attendingCall` (S).
pub const AGENT_STATUS: &str = "AgentStatus";
/// Names one stay in the queues and the call that ends it (S, UUID).
pub const TICKET: &str = "Ticket";
/// Since when an agent could be queued (S).
pub const AVAILABLE_SINCE: &str = "AvailableSince";
/// The place in the queues (S).
pub const QUEUED_AT: &str = "QueuedAt";
/// The queues an agent waits in (SS).
pub const QUEUES: &str = "Queues";
/// A call's id (S).
pub const CALL_ID: &str = "CallID";
/// When an agent's lease on a call expires (S).
pub const LEASE_UNTIL: &str = "LeaseUntil";
/// The same, as long as the agent has not answered the assignment (S).
pub const ANSWER_BY: &str = "AnswerBy";

/// How often a queue changed until joins were counted (N).
pub const QUEUE_VERSION: &str = "QueueVersionId";
/// How many agents waited in a queue when joins began to be counted (N).
pub const QUEUE_DEPTH: &str = "QueueDepth";
/// How many calls of one criteria wait, as releases before counted them (N). It stays 0 in new items.
pub const WAITING_DEPTH: &str = "WaitingDepth";
/// When a process last opened a line of waiting calls (S).
pub const SEEN_AT: &str = "SeenAt";

/// What a call asks for, canonical (S).
pub const CRITERIA: &str = "Criteria";
/// When a call arrived (S).
pub const ARRIVED_AT: &str = "ArrivedAt";
/// Tells calls apart that arrived in one moment (S, digits).
pub const SEQUENCE: &str = "Sequence";
/// `waiting`, `assigned`, `cancelled` or `expired` (S).
pub const CALL_STATUS: &str = "CallStatus";
/// How often a call was assigned so far; absent: not yet (N).
pub const ASSIGNMENT: &str = "Assignment";
/// When DynamoDB may delete a finished call, in seconds since the Unix epoch (N).
pub const TTL: &str = "ttl";
/// When a call met its agent (S).
pub const ASSIGNED_AT: &str = "AssignedAt";

/// Attributes that no dimension may have.
pub const RESERVED: [&str; 20] = [
    PK,
    SK,
    AGENT_NAME,
    AGENT_ID,
    AGENT_STATUS,
    TICKET,
    AVAILABLE_SINCE,
    QUEUED_AT,
    QUEUES,
    CALL_ID,
    LEASE_UNTIL,
    ANSWER_BY,
    QUEUE_VERSION,
    QUEUE_DEPTH,
    WAITING_DEPTH,
    CRITERIA,
    ARRIVED_AT,
    CALL_STATUS,
    ASSIGNED_AT,
    TTL,
];
