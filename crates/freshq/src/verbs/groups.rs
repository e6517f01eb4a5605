//! `freshq groups`: shows the groups of a queue.

mod change;

use std::collections::BTreeSet;

use async_trait::async_trait;
use clap::Args;
use lifo_queue::control::{
    Cause, GroupPause, GroupStates, Health, LearnedGroup, OpenBreaker, OperatorLimit,
};
use lifo_queue::operate::{GroupDepth, GroupDepths};
use lifo_queue::time::Millis;
use serde_json::{Value, json};

pub(super) use self::change::change;
use super::VerbOnQueue;
use crate::confirm::Prompt;
use crate::failure::Result;
use crate::overrides;
use crate::queue::Queue;
use crate::report::{Report, columns};
use crate::time_format::{age, exact};

/// Shows the groups of a queue with groups, for example its tenants: those with a pause or a limit
/// first, then those with the most pending tasks.
///
/// Reads the newest entries of the index, about 30 per read unit, and prints how many. A group is
/// closed while it is paused, while its rate allows no start, and while its downstream requests no
/// calls. Rates, closures and open circuit breakers are shown as the last turn left them.
#[derive(Debug, Args)]
pub(crate) struct Groups {
    /// Maximum number of groups to show
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Maximum number of pending tasks, and of running ones, to read from the index
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_reads: u32,
}

#[async_trait]
impl VerbOnQueue for Groups {
    async fn run(&self, queue: &Queue, _: &mut dyn Prompt) -> Result<Report> {
        let (reads, limit) = (self.max_reads as usize, self.limit as usize);
        let groups = GroupsReport::read_from(queue, reads, limit).await?;
        Ok(Report::done(groups.text(), groups.json()))
    }
}

/// The groups of a queue.
#[derive(Debug)]
pub(crate) struct GroupsReport {
    pub(crate) now: Millis,
    pub(crate) depths: GroupDepths,
    pub(crate) states: GroupStates,
    /// Maximum number of groups to show.
    pub(crate) limit: usize,
}

/// One group.
pub(crate) struct Row<'a> {
    /// The name of the group; empty for tasks without a group.
    pub(crate) name: &'a str,
    pub(crate) depth: GroupDepth,
    pub(crate) limit: Option<&'a OperatorLimit>,
    pub(crate) pause: Option<&'a GroupPause>,
    /// Time until which none of the group's tasks is due; `None` if the group is open.
    pub(crate) closed_until: Option<Millis>,
    /// The last facts about the group's downstream.
    health: Health,
    /// The open circuit breaker, as of the end of the last turn.
    breaker: Option<OpenBreaker>,
}

impl GroupsReport {
    /// Reads the groups, with up to `most` index entries per status.
    pub(crate) async fn read_from(queue: &Queue, most: usize, limit: usize) -> Result<Self> {
        Ok(Self {
            depths: queue.operator.group_depths(most).await?,
            states: queue.store.groups().await?,
            now: queue.clock.now(),
            limit,
        })
    }

    /// Returns the groups to show, and the total number of known groups.
    pub(crate) fn rows(&self) -> (Vec<Row<'_>>, usize) {
        let Self { depths, states, .. } = self;
        let is_closed = |group: &&LearnedGroup| {
            group.breaker.is_some() || states.closed_until(&group.name, self.now).is_some()
        };
        let closed = states.learned.groups.iter().filter(is_closed);
        let closed = closed.map(|group| &group.name);
        let names: BTreeSet<&String> = depths
            .groups
            .keys()
            .chain(states.overrides.keys())
            .chain(closed)
            .collect();
        let mut rows: Vec<_> = names.into_iter().map(|name| self.row(name)).collect();
        rows.sort_by_key(|row| {
            let is_closed = row.closed_until.is_some() || row.breaker.is_some();
            let is_changed = row.limit.is_some() || is_closed;
            std::cmp::Reverse((is_changed, row.depth.pending, row.depth.taken))
        });
        let all = rows.len();
        rows.truncate(self.limit);
        (rows, all)
    }

    fn row<'a>(&'a self, name: &'a str) -> Row<'a> {
        let overridden = self.states.overrides.get(name);
        let mut learned = self.states.learned.groups.iter();
        let learned = learned.find(|group| group.name == name);
        Row {
            name,
            depth: self.depths.groups.get(name).copied().unwrap_or_default(),
            limit: overridden.and_then(|one| overrides::limit_of(one, self.now)),
            pause: overridden.and_then(|one| overrides::pause_of(one, self.now)),
            closed_until: self.states.closed_until(name, self.now),
            health: learned.map(|group| group.health).unwrap_or_default(),
            breaker: learned.and_then(|group| group.breaker),
        }
    }

    /// Formats the number of index entries that were read, as text.
    pub(crate) fn read(&self) -> String {
        let all = match self.depths.exact {
            true => "all pending and running tasks",
            false => "the newest tasks; older ones are not counted",
        };
        format!("index entries read: {}, {all}", self.depths.read)
    }
}

impl Row<'_> {
    /// Formats the pause, the limit and other reasons why no task of the group is due.
    pub(crate) fn state(&self, now: Millis) -> String {
        let paused = self.pause.map(|pause| overrides::pause(pause, now));
        let closed = self.closed_until.filter(|_| paused.is_none());
        let reason = self
            .health
            .cause
            .map_or(String::new(), |cause| format!(": {}", cause.text()));
        let closed = closed.map(|until| format!("closed until {}{reason}", exact(until)));
        let breaker = self.breaker.map(|open| {
            let (since, probes) = (age(open.since, now), open.probes);
            format!("circuit breaker open for {since}, failed probes: {probes}")
        });
        let limited = self
            .limit
            .map(|limit| format!("limited to {}", overrides::limit(limit, now)));
        let parts: Vec<_> = [paused, closed, breaker, limited]
            .into_iter()
            .flatten()
            .collect();
        match parts.is_empty() {
            true => "not paused or limited".to_owned(),
            false => parts.join("; "),
        }
    }

    fn json(&self, now: Millis) -> Value {
        let GroupDepth {
            pending,
            newest,
            oldest,
            taken,
        } = self.depth;
        let age = |created: Option<Millis>| created.map(|at| now.since(at).as_millis());
        json!({
            "group": self.name,
            "pending": pending,
            "running": taken,
            "newestMs": age(newest),
            "oldestMs": age(oldest),
            "closedUntil": self.closed_until.map(exact),
            "closedBecause": self.closed_until.and(self.health.cause).map(Cause::text),
            "breaker": self.breaker.map(|open| json!({
                "since": exact(open.since),
                "failedProbes": open.probes,
            })),
            "limit": self.limit.map(|limit| overrides::limit_json(limit, now)),
            "paused": self.pause.map(|pause| overrides::pause_json(pause, now)),
        })
    }
}

impl GroupsReport {
    fn text(&self) -> String {
        let now = self.now;
        let (rows, all) = self.rows();
        let head = ["GROUP", "PENDING", "RUNNING", "NEWEST", "OLDEST", "STATE"].map(str::to_owned);
        let aged = |created: Option<Millis>| created.map_or("-".to_owned(), |at| age(at, now));
        let lines = rows.iter().map(|row| {
            [
                overrides::shown(row.name).to_owned(),
                row.depth.pending.to_string(),
                row.depth.taken.to_string(),
                aged(row.depth.newest),
                aged(row.depth.oldest),
                row.state(now),
            ]
        });
        let mut text = match rows.is_empty() {
            true => "no task is pending or running, and no group has a limit or a pause".to_owned(),
            false => columns(std::iter::once(head).chain(lines)),
        };
        text += &format!("\n{}", self.read());
        if all > rows.len() {
            text += &format!("; groups not shown: {}", all - rows.len());
        }
        text
    }

    fn json(&self) -> Value {
        let (rows, all) = self.rows();
        json!({
            "groups": rows.iter().map(|row| row.json(self.now)).collect::<Vec<_>>(),
            "notShown": all - rows.len(),
            "read": { "entries": self.depths.read, "exact": self.depths.exact },
        })
    }
}
