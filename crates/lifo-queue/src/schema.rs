//! The names of the table: attributes, index, reserved ids.
//!
//! They stand here once for Rust and in `infra/contract/tasks.ts` once for TypeScript; the contract
//! tests on both sides compare them with `tests/contract.json`.

/// Partition key: the task's id (S).
pub const TASK_ID: &str = "taskId";
/// Status of the task (S), written through [`StatusKey`](crate::task::StatusKey).
pub const TASK_STATUS: &str = "taskStatus";
/// When the task was created (N, milliseconds since the epoch). Never changed afterwards, but by a
/// newer state of a task with a key.
pub const TASK_CREATED: &str = "taskCreated";
/// When the task was last written (N, milliseconds).
pub const TASK_UPDATED: &str = "taskUpdated";
/// DynamoDB's time to live (N, epoch **seconds**).
pub const TTL: &str = "ttl";
/// The task's payload: any JSON that round-trips.
pub const PAYLOAD: &str = "payload";
/// Attempts that count against the maximum (N).
pub const ATTEMPTS: &str = "attempts";
/// Every start of the task, busy returns included (N).
pub const TOTAL_ATTEMPTS: &str = "totalAttempts";
/// The token of the current or last lease (S), and marks behind it, written through
/// [`TokenText`](crate::task::TokenText).
pub const LEASE_TOKEN: &str = "leaseToken";
/// When the lease expires (N, milliseconds). On the control item: the processor's lease.
pub const LEASE_UNTIL: &str = "leaseUntil";
/// The task may not start before (N, milliseconds).
pub const NOT_BEFORE: &str = "notBefore";
/// The task's own deadline while `ttl` is moved out of the way (N, epoch **seconds**).
pub const EXPIRES_AT: &str = "expiresAt";
/// Identifies the put that created the item (S), so that its lost acknowledgement is recognised.
pub const CREATE_TOKEN: &str = "createToken";
/// The last take ran the task without neighbours (BOOL); absent otherwise.
pub const ALONE: &str = "alone";
/// Why the last attempt did not succeed (S, truncated).
pub const LAST_ERROR: &str = "lastError";
/// Which state of its key the task is (S), a [`Version`](crate::task::Version). Only tasks with
/// a key have it.
pub const TASK_VERSION: &str = "taskVersion";
/// When the state of a key was created (N, milliseconds), where the key keeps its place in the
/// queue and `taskCreated` is that place.
pub const STATE_CREATED: &str = "stateCreated";
/// How many states of the key were replaced while they waited, in all (N).
pub const SUPERSEDED: &str = "superseded";
/// A newer state came while this one runs (BOOL); absent otherwise.
pub const OVERTAKEN: &str = "overtaken";
/// The put that replaced an expired state (S), until the next take.
pub const REVIVED: &str = "revived";
/// Which trace the task belongs to (S), a [`TraceHeader`](crate::trace::TraceHeader). Only sampled tasks have it.
pub const TRACE_HEADER: &str = "traceHeader";

/// The index the queue is read from: `taskStatus` + `taskCreated`.
pub const INDEX: &str = "task-status-created-index";
/// What the index projects beside the keys: what selection and the sweep need, no payload.
pub const INDEX_PROJECTION: [&str; 5] = [TTL, NOT_BEFORE, LEASE_UNTIL, LEASE_TOKEN, ATTEMPTS];

/// Ids that begin with this are reserved for the queue itself.
pub const RESERVED_PREFIX: char = '#';
/// The control item's id. It has no `taskStatus`, so it is in no index.
pub const CONTROL_ITEM: &str = "#processor";
/// Control item: how many wake-ups were requested (N), only ever added to.
pub const REQUESTED: &str = "requested";
/// Control item: the invocation attempt that holds the processor lease (S).
pub const OWNER: &str = "owner";
/// Control item: the message whose invocation holds the lease (S).
pub const MESSAGE_ID: &str = "messageId";
/// Control item: no task starts before (N, milliseconds).
pub const PAUSED_UNTIL: &str = "pausedUntil";
/// Control item: why the queue is paused (S).
pub const PAUSE_REASON: &str = "pauseReason";
/// Control item: consecutive pauses because the downstream was busy (N).
pub const BUSY_PAUSES: &str = "busyPauses";
/// Control item: when the rate limit's bucket is full again (N, milliseconds).
pub const RATE_FULL_AT: &str = "rateFullAt";
/// Control item: `taskCreated` of the oldest redriven task (N, milliseconds).
pub const OLDEST_REDRIVEN: &str = "oldestRedriven";
/// Control item: when the last redriven task expires (N, epoch **seconds**).
pub const REDRIVEN_UNTIL: &str = "redrivenUntil";
/// Control item: a notification is on its way until (N, milliseconds).
pub const NOTIFIED_UNTIL: &str = "notifiedUntil";
/// Control item: the event that published that notification (S).
pub const NOTIFIED_BY: &str = "notifiedBy";
/// Control item: since when the circuit breaker has been open (N, milliseconds); absent while it
/// is closed.
pub const BREAKER_SINCE: &str = "breakerSince";
/// Control item: probes that failed since the circuit breaker opened (N).
pub const BREAKER_PROBES: &str = "breakerProbes";
/// Control item: an operator holds the circuit breaker open until (N, milliseconds).
pub const BREAKER_HELD_UNTIL: &str = "breakerHeldUntil";
/// Control item: why an operator holds the circuit breaker open (S).
pub const BREAKER_REASON: &str = "breakerReason";
/// Control item: how often operators opened or closed the circuit breaker (N), only ever added to.
pub const BREAKER_COMMANDS: &str = "breakerCommands";
/// Control item: since when the queue has been overloaded (N, milliseconds); absent while it is
/// not.
pub const OVERLOADED_SINCE: &str = "overloadedSince";
/// Control item: consecutive turns that settled nothing (N).
pub const IDLE_TURNS: &str = "idleTurns";
