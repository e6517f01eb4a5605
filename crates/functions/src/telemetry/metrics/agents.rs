//! The metrics of an agents' queue.

use agent_queue::desk::DeskReport;
use agent_queue::intake::BatchReport;
use agent_queue::queue::Counted as Effort;
use agent_queue::sweep::SweepReport;
use metrics::Unit;

use super::Counted;

counters! {
    AGENT_NAMES:
    CALLS_ASSIGNED = "CallsAssigned": "Assigned calls.",
    CALLS_QUEUED = "CallsQueued": "Calls that found no agent and became pending.",
    CALLS_CANCELLED = "CallsCancelled": "Pending calls cancelled by their caller.",
    CALLS_EXPIRED = "CallsExpired": "Calls that expired.",
    CALLS_REJECTED = "CallsRejected": "Invalid messages, sent to the dead-letter queue; has an alarm.",
    AGENTS_QUEUED = "AgentsQueued": "Agents queued.",
    AGENT_LEASES_RETURNED = "AgentLeasesReturned": "Agents made available because their call lease expired.",
    ASSIGNMENTS_PUBLISHED = "AssignmentsPublished": "Assignments published.",
    TRANSACTION_CONFLICTS = "TransactionConflicts": "Transactions that conflicted with another and were repeated.",
    LOST_MATCHES = "LostMatches": "Matches whose agent another process assigned first.",
    AGENT_SWEEPS = "AgentSweeps": "Completed sweeps: an alarm if there are none.",
    QUEUED_AGENTS = "QueuedAgents": "Queued agents.",
    PENDING_CALLS = "PendingCalls": "Pending calls.",
    OLDEST_PENDING_CALL_SECONDS = "OldestPendingCallSeconds": "Age of the oldest pending call, in seconds; has an alarm.",
    UNPUBLISHED_ASSIGNMENTS = "UnpublishedAssignments": "Events that a sweep could not publish; has an alarm.",
}

pub(super) fn describe() {
    for name in AGENT_NAMES {
        metrics::describe_counter!(*name, Unit::Count, "");
    }
    for name in [QUEUED_AGENTS, PENDING_CALLS, UNPUBLISHED_ASSIGNMENTS] {
        metrics::describe_gauge!(name, Unit::Count, "");
    }
    metrics::describe_gauge!(OLDEST_PENDING_CALL_SECONDS, Unit::Seconds, "");
}

impl Counted for BatchReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (CALLS_ASSIGNED, self.assigned.into()),
            (CALLS_QUEUED, self.queued.into()),
            (CALLS_EXPIRED, self.expired.into()),
            (CALLS_REJECTED, self.rejected.into()),
            (ASSIGNMENTS_PUBLISHED, self.published.published.into()),
        ]
    }
}

impl Counted for DeskReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (CALLS_ASSIGNED, self.assigned.into()),
            (CALLS_QUEUED, self.calls_queued.into()),
            (CALLS_CANCELLED, self.cancelled.into()),
            (CALLS_EXPIRED, self.expired.into()),
            (AGENTS_QUEUED, self.agents_queued.into()),
            (ASSIGNMENTS_PUBLISHED, self.published.published.into()),
        ]
    }
}

impl Counted for SweepReport {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (AGENT_LEASES_RETURNED, self.returned.into()),
            (CALLS_ASSIGNED, self.assigned.into()),
            (CALLS_EXPIRED, self.expired.into()),
            (ASSIGNMENTS_PUBLISHED, self.published.into()),
            (AGENT_SWEEPS, 1),
        ]
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let number = |count: u64| count as f64;
        vec![
            (QUEUED_AGENTS, number(self.queued_agents)),
            (PENDING_CALLS, number(self.pending_calls)),
            (
                OLDEST_PENDING_CALL_SECONDS,
                number(self.oldest_pending_micros) / 1e6,
            ),
            (UNPUBLISHED_ASSIGNMENTS, self.untold.into()),
        ]
    }
}

impl Counted for Effort {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            (TRANSACTION_CONFLICTS, self.conflicts),
            (LOST_MATCHES, self.lost_matches),
        ]
    }
}
