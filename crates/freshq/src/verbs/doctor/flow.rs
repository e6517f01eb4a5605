//! Checks of the task flow: failed runs, crashed processes, keys with many superseded states, and a
//! growing backlog.

use std::time::Duration;

use lifo_queue::control::Control;
use lifo_queue::operate::{FoundTask, Keys, Status, Suspect};
use lifo_queue::process::TAKEN_PER_SLOT;
use lifo_queue::schema;
use lifo_queue::time::Millis;

use super::Finding;
use crate::sample::{Tasks, WINDOW};
use crate::time_format::tenths;
use crate::verbs::cause::{self, Limit};
use crate::verbs::{longest_run, start_limits};

/// Minimum number of failed tasks in the last minute for a finding.
const FAILED: u32 = 5;

/// Maximum number of tasks that a finding names.
const NAMED: usize = 5;

/// Maximum number of keys with pending tasks, and minimum number of superseded states, for a
/// finding. Devices that report often also supersede many states, but have many keys.
const FEW_KEYS: (u32, u64) = (2, 50);

/// Checks the tasks that ended in the last minute.
pub(super) fn failing(control: &Control, now: Millis) -> Option<Finding> {
    let observed = &control.observed;
    let (succeeded, failed) = observed.ended.within(now);
    let last = observed.last_response.as_ref().map(cause::response);
    (failed >= FAILED && failed > succeeded).then(|| Finding {
        place: "the tasks".to_owned(),
        what: format!(
            "{failed} of {} that ended in the last minute failed; {}",
            succeeded + failed,
            last.unwrap_or_default()
        ),
        why: "a failed task does not run again unless an operator redrives it".to_owned(),
        remedy: "freshq errors groups the failures; pause the queue while you fix the cause, then freshq redrive --error".to_owned(),
    })
}

/// Checks the tasks that may have crashed their process.
pub(super) fn crashed(suspects: &[Suspect]) -> Option<Finding> {
    let named = suspects.iter().take(NAMED);
    let named = named.map(|there| format!("{} ({})", there.task, there.status));
    let named = named.collect::<Vec<_>>().join(", ");
    (!suspects.is_empty()).then(|| Finding {
        place: "the processor".to_owned(),
        what: format!(
            "it probably crashed while it ran {} tasks, the newest: {named}",
            suspects.len()
        ),
        why: "one of these tasks may crash the process again; after two crashes each runs alone"
            .to_owned(),
        remedy:
            "freshq show <id> shows the attempts of a task; freshq cancel <id> --wait 3m deletes it"
                .to_owned(),
    })
}

/// Checks the keys with pending tasks.
pub(super) fn keys(keys: Keys) -> Option<Finding> {
    let Keys {
        tasks,
        superseded,
        exact,
    } = keys;
    let few = exact && (1..=FEW_KEYS.0).contains(&tasks) && superseded >= FEW_KEYS.1;
    few.then(|| Finding {
        place: "the keys".to_owned(),
        what: format!("{superseded} tasks were replaced by newer ones before they ran; pending keys: {tasks}"),
        why: "of the tasks with one key only the newest runs; if different things share a key, the others are lost".to_owned(),
        remedy: "freshq list shows the key, and freshq show <key> its newest payload; if a key does not identify one thing, for example one device, fix the producer".to_owned(),
    })
}

/// Checks the number of running tasks and whether the sweep returned those of a crashed process.
pub(super) fn taken(taken: &[FoundTask], concurrency: usize, now: Millis) -> Option<Finding> {
    let expired = taken.iter().filter(|task| {
        let until = task.number(schema::LEASE_UNTIL);
        until.is_some_and(|until| Millis(until) <= now)
    });
    let expired = expired.count();
    let most = match expired {
        0 => TAKEN_PER_SLOT * concurrency,
        _ => concurrency,
    };
    (taken.len() > most).then(|| Finding {
        place: "the tasks".to_owned(),
        what: format!(
            "{} tasks are TAKEN, and the concurrency is {concurrency}; the leases of {expired} of them expired",
            taken.len()
        ),
        why: format!("a crashed process leaves its tasks TAKEN until the sweep returns them; a processor takes at most {TAKEN_PER_SLOT} tasks per slot, so further ones with a live lease belong to another process"),
        remedy: "freshq status names the suspects of a crash; if the number does not fall within two minutes, freshq logs sweep-tasks says why no sweep returns them".to_owned(),
    })
}

/// Checks whether tasks are created faster than they end.
pub(super) fn surplus(status: &Status, tasks: &Tasks) -> Option<Finding> {
    let created = tasks.created;
    let observed = &status.control.observed;
    let (succeeded, failed) = observed.ended.within(status.now);
    let limit = Limit::of(status);
    let mut what = format!(
        "{}; {} were created and {} ended in the last {} s",
        limit.text(tasks),
        created.count,
        succeeded + failed,
        WINDOW.as_secs()
    );
    if let Some(ms) = observed.median_run_ms {
        let median = tenths(Duration::from_millis(ms));
        what += &format!("; runs take {median} at the median{}", longest_run(status));
    }
    what += &format!("; running: {}", status.taken);
    if let Some(limits) = observed.limits {
        what += &format!(" with {}", start_limits(limits));
    }
    let remedy = match limit {
        Limit::Response(last) => {
            what += &format!("; {}", cause::response(last));
            cause::remedy(last).unwrap_or("the downstream accepts fewer tasks than the queue could start: act on its last response, which freshq errors counts; a higher processing.concurrency does not help")
        }
        Limit::Operator(_) => {
            "freshq limit --off ends the limit; freshq status shows who set it, and why"
        }
        Limit::Rate(_) => {
            "processing.ratePerSecond limits the starts: freshq list shows which producer sends the tasks, by their payloads; ask its owner to send fewer. freshq cancel --payload '<text>' --dry-run lists those that it would delete; ask their owner first, because deleted tasks are not kept. If the downstream accepts more, raise processing.ratePerSecond and deploy"
        }
        Limit::Slow(..) => {
            "contact the owner of the service that the slow tasks call; freshq list --status taken shows their payloads. A queue or a group of their own, or a shorter processing.taskTimeout, keeps the slots for other tasks. Until then, with the consent of their owner, freshq cancel --payload '<text>' deletes pending tasks of this kind"
        }
        Limit::Slots(_) | Limit::Unknown => {
            "freshq list --status taken shows the running tasks: if they are of one kind, or run much longer than the median, contact the owner of the service that they call. Otherwise raise processing.concurrency and deploy, or let the producers create fewer tasks; freshq cancel --payload '<text>' --dry-run lists those that it would delete, but ask their owner first, because deleted tasks are not kept; the dashboard shows whether DynamoDB throttles, and by which limit"
        }
    };
    let alike = match limit {
        Limit::Slow(..) => &tasks.running,
        _ => &tasks.recent,
    };
    created.surplus(status).map(|_| Finding {
        place: "the tasks".to_owned(),
        what,
        why: "new tasks start first, and the oldest expire without running".to_owned(),
        remedy: cause::with_field(remedy, alike),
    })
}

#[cfg(test)]
mod tests;
