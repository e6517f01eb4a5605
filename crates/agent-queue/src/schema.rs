//! The names of the table's keys and attributes, the same as in `infra/contract/agents.ts` and
//! `tests/contract.json`.

/// Partition key (S).
pub const PK: &str = "pk";
/// Sort key (S).
pub const SK: &str = "sk";

/// Prefix of the agents' partitions, `Agents#<stripe>`. The sort key is `Agent#<id>`.
pub const AGENTS: &str = "Agents";
pub const AGENT_PREFIX: &str = "Agent#";
/// Partition of all queues that were ever opened. The sort key is the queue's name.
pub const ALL_QUEUES: &str = "AllQueues";
/// Partition of the open lines of pending calls. The sort key is `C#<criteria>`.
pub const ALL_CRITERIA: &str = "AllCriteria";
/// Prefix of a partition of pending calls, `C#<criteria>`.
pub const CRITERIA_PREFIX: &str = "C#";
pub const CALL_PREFIX: &str = "Call#";
pub const CALL: &str = "Call";
/// Prefix of the call lease partitions, `Leases#<stripe>`. The sort key is `<until>#<agent id>`.
pub const LEASES: &str = "Leases";
/// Prefix of the outbox partitions, `Outbox#<stripe>`, which contain the events to publish. The
/// sort key is `<time>#<call id>`.
pub const OUTBOX: &str = "Outbox";
/// Number of partitions each for agents, call leases and the outbox. Stored keys depend on it.
pub const STRIPES: u8 = 16;

pub const AGENT_NAME: &str = "AgentName";
pub const AGENT_ID: &str = "AgentID";
/// Status of an agent (S): `offline`, `available`, `queued` or `attendingCall`.
pub const AGENT_STATUS: &str = "AgentStatus";
/// Ticket, which identifies one stay in the queues and the call that ended it (S, UUID).
pub const TICKET: &str = "Ticket";
/// Time at which an agent became available (S).
pub const AVAILABLE_SINCE: &str = "AvailableSince";
/// Time of the enqueue, which determines the position in the queues (S).
pub const QUEUED_AT: &str = "QueuedAt";
pub const QUEUES: &str = "Queues";
pub const CALL_ID: &str = "CallID";
/// Time at which an agent's call lease expires (S).
pub const LEASE_UNTIL: &str = "LeaseUntil";
/// Time at which an unanswered call lease expires; absent after the answer (S).
pub const ANSWER_BY: &str = "AnswerBy";

/// Time at which a process last opened a line of pending calls (S).
pub const SEEN_AT: &str = "SeenAt";

pub const CRITERIA: &str = "Criteria";
/// Time at which a call was sent (S).
pub const ARRIVED_AT: &str = "ArrivedAt";
/// Sequence number, which orders calls that were sent at the same time (S, digits).
pub const SEQUENCE: &str = "Sequence";
/// Status of a call (S): [`PENDING`], `assigned`, `cancelled` or `expired`.
pub const CALL_STATUS: &str = "CallStatus";
/// The stored status of a pending call. Elsewhere this status is `pending`.
pub const PENDING: &str = "waiting";
/// Number of a call's assignments so far; absent if there are none (N).
pub const ASSIGNMENT: &str = "Assignment";
/// Time at which DynamoDB may delete a finished call, in seconds since the Unix epoch (N).
pub const TTL: &str = "ttl";
/// Time of a call's assignment (S).
pub const ASSIGNED_AT: &str = "AssignedAt";

/// Reserved attribute names, which dimensions cannot use.
pub const RESERVED: [&str; 17] = [
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
    CRITERIA,
    ARRIVED_AT,
    CALL_STATUS,
    ASSIGNED_AT,
    TTL,
];
