//! Names of the table's attributes, index and reserved ids.
//!
//! This module defines them for Rust, and `infra/contract/tasks.ts` for TypeScript. The contract tests
//! on both sides compare them with `tests/contract.json`. Expressions name the attributes directly.
//! Only [`TTL`] and [`OWNER`] require a placeholder, because DynamoDB reserves these words.

/// Partition key: the task's id (S).
pub const TASK_ID: &str = "taskId";
/// Status of the task (S), written through [`StatusKey`](crate::task::StatusKey).
pub const TASK_STATUS: &str = "taskStatus";
/// When the task was created (N, milliseconds since the epoch). Only a newer state of a key changes
/// it.
pub const TASK_CREATED: &str = "taskCreated";
/// When the task was last written (N, milliseconds).
pub const TASK_UPDATED: &str = "taskUpdated";
/// DynamoDB time to live (N, epoch **seconds**).
pub const TTL: &str = "ttl";
/// The task's payload: any JSON that round-trips.
pub const PAYLOAD: &str = "payload";
/// Number of attempts that count against the maximum (N).
pub const ATTEMPTS: &str = "attempts";
/// Number of starts, including those that ended in a busy return (N).
pub const TOTAL_ATTEMPTS: &str = "totalAttempts";
/// The token of the current or last lease (S), followed by marks, written through
/// [`TokenText`](crate::task::TokenText).
pub const LEASE_TOKEN: &str = "leaseToken";
/// When the lease expires (N, milliseconds). On the control item: the processor's lease.
pub const LEASE_UNTIL: &str = "leaseUntil";
/// Earliest start of the task (N, milliseconds).
pub const NOT_BEFORE: &str = "notBefore";
/// The task's own expiry while it is TAKEN and `ttl` contains a later time (N, epoch **seconds**).
pub const EXPIRES_AT: &str = "expiresAt";
/// Identifies the put that wrote the task (S), so that the queue recognizes the put after a lost
/// acknowledgement.
pub const CREATE_TOKEN: &str = "createToken";
/// Present if the last run was alone in its process (BOOL).
pub const ALONE: &str = "alone";
/// Why the last attempt did not succeed (S, truncated).
pub const LAST_ERROR: &str = "lastError";
/// Version of the key's state that the task represents (S), a [`Version`](crate::task::Version).
/// Only tasks with a key have it.
pub const TASK_VERSION: &str = "taskVersion";
/// When the state of a key was created (N, milliseconds), if the key keeps its position in the
/// queue. `taskCreated` is then the key's position.
pub const STATE_CREATED: &str = "stateCreated";
/// Total number of states of the key that were superseded before they ended (N).
pub const SUPERSEDED: &str = "superseded";
/// Present if a newer state was written during the current run (BOOL).
pub const OVERTAKEN: &str = "overtaken";
/// Number of the task's leases that expired since a run last settled it (N). Newer states of a key
/// do not reset it.
pub const CRASHES: &str = "crashes";
/// Token of the put that replaced an expired state (S). Present until the next take.
pub const REVIVED: &str = "revived";
/// Header of the task's trace (S), a [`TraceHeader`](crate::trace::TraceHeader). Only sampled tasks
/// have it.
pub const TRACE_HEADER: &str = "traceHeader";

/// The index from which the queue is read: `taskStatus` + `taskCreated`.
pub const INDEX: &str = "task-status-created-index";
/// Non-key attributes in the index: those for selection and the sweep, but not the payload.
pub const INDEX_PROJECTION: [&str; 5] = [TTL, NOT_BEFORE, LEASE_UNTIL, LEASE_TOKEN, ATTEMPTS];

/// Ids that start with this character are reserved for the queue itself.
pub const RESERVED_PREFIX: char = '#';
/// The control item's id. The item has no `taskStatus`, so no index includes it.
pub const CONTROL_ITEM: &str = "#processor";
/// The item with the admission meter. It has no `taskStatus`, so no index includes it.
pub const INGEST_ITEM: &str = "#ingest";
/// Item `#ingest`: number of tasks that admission can shed, counted at their first receive (N).
pub const RECEIVED: &str = "received";
/// Item `#ingest`: number of tasks that were not shed at their first receive (N).
pub const ADMITTED: &str = "admitted";
/// Item `#ingest`: the last estimate of the held tasks (M), a [`Mark`](crate::store::Mark).
pub const MARK: &str = "mark";
/// The item with the operators' group overrides and the processors' group state. It has no
/// `taskStatus`, so no index includes it.
pub const GROUPS_ITEM: &str = "#groups";
/// Item `#groups`: the overrides by group (M), each a
/// [`GroupOverride`](crate::control::GroupOverride).
pub const OVERRIDES: &str = "overrides";
/// Item `#groups`: number of operators' changes to the overrides (N). Never decreases.
pub const CHANGES: &str = "changes";
/// Item `#groups`: the processors' state (M), a
/// [`LearnedGroups`](crate::control::LearnedGroups).
pub const LEARNED: &str = "learned";
/// Item `#groups`: the processor that wrote [`LEARNED`] (S).
pub const LEARNED_BY: &str = "learnedBy";
/// Control item: number of requested wake-ups (N). Never decreases.
pub const REQUESTED: &str = "requested";
/// Control item: the invocation attempt that holds the processor lease (S).
pub const OWNER: &str = "owner";
/// Control item: id of the message whose invocation holds the lease (S).
pub const MESSAGE_ID: &str = "messageId";
/// Control item: end of the pause (N, milliseconds).
pub const PAUSED_UNTIL: &str = "pausedUntil";
/// Control item: why the queue is paused (S).
pub const PAUSE_REASON: &str = "pauseReason";
/// Control item: the principal that paused the queue, or `a processor` (S).
pub const PAUSED_BY: &str = "pausedBy";
/// Control item: when the queue was paused (N, milliseconds).
pub const PAUSED_AT: &str = "pausedAt";
/// Control item: when the rate limit's bucket is full again (N, milliseconds).
pub const RATE_FULL_AT: &str = "rateFullAt";
/// Control item: `taskCreated` of the oldest redriven task (N, milliseconds).
pub const OLDEST_REDRIVEN: &str = "oldestRedriven";
/// Control item: when the last redriven task expires (N, epoch **seconds**).
pub const REDRIVEN_UNTIL: &str = "redrivenUntil";
/// Control item: expiry of the start marker of rule 9 (N, milliseconds).
pub const NOTIFIED_UNTIL: &str = "notifiedUntil";
/// Control item: the event that set the start marker (S).
pub const NOTIFIED_BY: &str = "notifiedBy";
/// Control item: when the circuit breaker opened (N, milliseconds); absent while it is closed.
pub const BREAKER_SINCE: &str = "breakerSince";
/// Control item: number of failed probes since the circuit breaker opened (N).
pub const BREAKER_PROBES: &str = "breakerProbes";
/// Control item: when an operator's hold on the open circuit breaker ends (N, milliseconds).
pub const BREAKER_HELD_UNTIL: &str = "breakerHeldUntil";
/// Control item: why an operator holds the circuit breaker open (S).
pub const BREAKER_REASON: &str = "breakerReason";
/// Control item: number of times that operators opened or closed the breaker (N). Never decreases.
pub const BREAKER_COMMANDS: &str = "breakerCommands";
/// Control item: the operators' limits on starts (M), an
/// [`OperatorLimits`](crate::control::OperatorLimits).
pub const LIMITS: &str = "limits";
/// Control item: facts about the downstream (M), a [`Health`](crate::control::Health).
pub const HEALTH: &str = "health";
/// Control item: start of the overload (N, milliseconds); absent without overload.
pub const OVERLOADED_SINCE: &str = "overloadedSince";
/// Control item: the processors' observations (M), an [`Observed`](crate::observed::Observed).
pub const OBSERVED: &str = "observed";
/// Control item: number of consecutive turns that settled no task (N).
pub const IDLE_TURNS: &str = "idleTurns";
