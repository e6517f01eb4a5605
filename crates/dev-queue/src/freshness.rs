//! Compares the ages at which tasks start with those that they would have in arrival order.

use std::collections::VecDeque;
use std::time::Duration;

use lifo_queue::time::{EpochSeconds, Millis};

/// Maximum number of remembered arrivals, and of remembered starts.
const REMEMBERED: usize = 10_000;

/// A task counts as fresh if it starts within this time of its creation.
pub const FRESH: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Freshness {
    arrivals: VecDeque<Arrival>,
    starts: VecDeque<Start>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    created: Millis,
    expires_at: Option<EpochSeconds>,
}

#[derive(Clone, Copy, Debug)]
struct Start {
    created: Millis,
    at: Millis,
}

/// The ages of started tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    pub started: usize,
    /// Number of tasks that started within [`FRESH`] of their creation.
    pub fresh: usize,
    pub median: Duration,
}

impl Freshness {
    pub fn created(&mut self, created: Millis, expires_at: Option<EpochSeconds>) {
        let arrival = Arrival {
            created,
            expires_at,
        };
        keep(&mut self.arrivals, arrival);
    }

    pub fn started(&mut self, created: Millis, at: Millis) {
        keep(&mut self.starts, Start { created, at });
    }

    /// Returns the ages at which the tasks started; `None` if no task has started.
    pub fn observed(&self) -> Option<Ages> {
        let ages = self
            .starts
            .iter()
            .map(|start| start.at.since(start.created));
        Ages::of(ages.collect())
    }

    /// Returns the ages that tasks would have had if each start had taken the oldest unexpired
    /// task. `None` if no task has started, or if all tasks were created at about the same time.
    pub fn in_arrival_order(&self) -> Option<Ages> {
        let mut queue: Vec<Arrival> = self.arrivals.iter().copied().collect();
        queue.sort_by_key(|arrival| arrival.created);
        let (oldest, newest) = (queue.first()?.created, queue.last()?.created);
        if newest.since(oldest) < FRESH {
            return None;
        }
        let mut queue = queue.into_iter().peekable();
        let mut starts: Vec<Millis> = self.starts.iter().map(|start| start.at).collect();
        starts.sort_unstable();
        let mut ages = Vec::new();
        for at in starts {
            let expired = |arrival: &Arrival| {
                let end = arrival.expires_at.map(EpochSeconds::millis);
                end.is_some_and(|end| end <= at)
            };
            while queue.next_if(expired).is_some() {}
            if let Some(oldest) = queue.next_if(|arrival| arrival.created <= at) {
                ages.push(at.since(oldest.created));
            }
        }
        Ages::of(ages)
    }
}

fn keep<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

impl Ages {
    fn of(mut ages: Vec<Duration>) -> Option<Self> {
        ages.sort_unstable();
        Some(Self {
            started: ages.len(),
            fresh: ages.iter().filter(|age| **age < FRESH).count(),
            median: *ages.get(ages.len() / 2)?,
        })
    }

    pub fn percent_fresh(&self) -> usize {
        self.fresh * 100 / self.started.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ages(of: &[(i64, i64)], arrivals: &[(i64, Option<i64>)]) -> Freshness {
        let mut freshness = Freshness::default();
        for (created, expires_at) in arrivals {
            freshness.created(Millis(*created), expires_at.map(EpochSeconds));
        }
        for (created, at) in of {
            freshness.started(Millis(*created), Millis(*at));
        }
        freshness
    }

    #[test]
    fn no_ages_are_reported_before_the_first_start() {
        let freshness = ages(&[], &[(0, None)]);
        assert_eq!(freshness.observed(), None);
        assert_eq!(freshness.in_arrival_order(), None);
    }

    #[test]
    fn tasks_are_older_at_start_in_arrival_order() {
        let arrivals = [(0, None), (1_000, None), (2_000, None)];
        let freshness = ages(&[(0, 0), (2_000, 2_000), (1_000, 4_000)], &arrivals);
        let ages = |fresh, median| Ages {
            started: 3,
            fresh,
            median: Duration::from_millis(median),
        };
        assert_eq!(freshness.observed(), Some(ages(2, 0)));
        // In arrival order, the tasks start at ages 0, 1 s and 2 s.
        assert_eq!(freshness.in_arrival_order(), Some(ages(1, 1_000)));
        assert_eq!(
            freshness.observed().map(|ages| ages.percent_fresh()),
            Some(66)
        );
    }

    #[test]
    fn arrival_order_skips_expired_tasks() {
        let arrivals = [(0, Some(1)), (1_000, Some(9))];
        let freshness = ages(&[(1_000, 1_500)], &arrivals);
        let found = freshness.in_arrival_order().unwrap();
        assert_eq!(
            (found.started, found.median),
            (1, Duration::from_millis(500))
        );
    }

    #[test]
    fn simultaneously_created_tasks_have_no_arrival_order() {
        let freshness = ages(&[(0, 10), (999, 1_500)], &[(0, None), (999, None)]);
        assert_eq!(freshness.in_arrival_order(), None);
        assert!(freshness.observed().is_some());
    }

    #[test]
    fn start_before_the_first_creation_is_ignored() {
        let freshness = ages(&[(0, 10)], &[(20, None)]);
        assert_eq!(freshness.in_arrival_order(), None);
    }
}
