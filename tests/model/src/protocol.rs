//! The protocol in a world of a given size, as a [`stateright::Model`].

use std::collections::BTreeSet;
use std::fmt;

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::action::Action;
use crate::mutation::Mutation;
use crate::state::{Budget, MOST_TASKS, State};
use crate::{lease, platform, processor, property, sweep, waker};

/// The protocol, the size of its world, and the possible faults.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// Number of tasks that a writer inserts. Maximum: [`MOST_TASKS`].
    pub tasks: u8,
    /// Number of redeliveries of a message after failed attempts.
    pub retries: u8,
    pub sweep: bool,
    /// Whether notifications and acquires are counted (for W3). The counts multiply the number of
    /// states.
    pub counts: bool,
    /// Number of consecutive turns without a settled task after which no tail call follows (rule
    /// 10). `None` disables rule 10.
    pub idle_bound: Option<u8>,
    /// Whether starts are rate-limited. If so, a turn without a run may only have waited (rule 10).
    pub rate_limited: bool,
    pub budget: Budget,
    /// The rule that is broken, if any.
    pub mutation: Option<Mutation>,
}

impl Protocol {
    /// Creates the correct protocol with these tasks, these faults, two retries and no sweep.
    pub fn with(tasks: u8, budget: Budget) -> Self {
        assert!(
            usize::from(tasks) <= MOST_TASKS,
            "a world holds at most {MOST_TASKS} tasks"
        );
        Self {
            tasks,
            retries: 2,
            sweep: false,
            counts: false,
            idle_bound: None,
            rate_limited: false,
            budget,
            mutation: None,
        }
    }

    pub fn mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Explores every reachable state until the first violation.
    pub fn explore(self) -> Report {
        let names = self
            .properties()
            .iter()
            .map(|property| property.name)
            .collect();
        self.explore_until(HasDiscoveries::AnyOf(names))
    }

    /// Explores every reachable state until this property is violated.
    pub fn explore_for(self, name: &'static str) -> Report {
        self.explore_until(HasDiscoveries::AnyOf(BTreeSet::from([name])))
    }

    fn explore_until(self, found: HasDiscoveries) -> Report {
        let checker = self.checker().finish_when(found).spawn_bfs().join();
        let violations = checker.discoveries().into_iter();
        Report {
            unique: checker.unique_state_count(),
            generated: checker.state_count(),
            depth: checker.max_depth(),
            violations: violations
                .map(|(name, path)| (name, path.into_actions()))
                .collect(),
        }
    }
}

#[derive(Debug)]
pub struct Report {
    pub unique: usize,
    /// Number of generated states, including repeated ones.
    pub generated: usize,
    /// Number of states on the longest of the shortest paths from the initial state.
    pub depth: usize,
    /// Each violated property, with a path to the violation.
    pub violations: Vec<(&'static str, Vec<Action>)>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            unique,
            generated,
            depth,
            ..
        } = self;
        write!(
            out,
            "{unique} unique states, {generated} generated, depth {depth}"
        )?;
        for (name, path) in &self.violations {
            write!(out, "\n  violated: {name}")?;
            for action in path {
                write!(out, "\n    {action:?}")?;
            }
        }
        Ok(())
    }
}

pub fn spend(budget: &mut u8) {
    if *budget != Budget::UNLIMITED {
        *budget = budget.saturating_sub(1);
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.budget)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        platform::actions(self, state, actions);
        waker::actions(state, actions);
        processor::actions(self, state, actions);
        sweep::actions(self, state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        let next = &mut state;
        match action {
            Action::Insert => platform::insert(self, next),
            Action::Replace(task) => platform::replace(self, next, task),
            Action::IndexCatchesUp(task) => platform::index_catches_up(next, task),
            Action::DeliverBatch(records) => platform::deliver_batch(self, next, records),
            Action::DeliverTailCall => platform::deliver_tail_call(self, next),
            Action::Wake(position, fate) => waker::step(self, next, position, fate),
            Action::CrashWaker(position) => waker::crash(self, next, position),
            Action::Deliver(message) => platform::deliver(self, next, message),
            Action::Duplicate(message) => platform::duplicate(self, next, message),
            Action::Lose(message) => platform::lose(next, message),
            Action::DuplicateTailCall => platform::duplicate_tail_call(next),
            Action::LoseTailCall => platform::lose_tail_call(next),
            Action::Process(slot, fate) => processor::step(self, next, slot, fate),
            Action::Return(slot, fate) => processor::return_task(self, next, slot, fate),
            Action::Heartbeat(slot) => lease::heartbeat(self, next, slot),
            Action::NoticeLeaseEnd(slot) => lease::notice_end(next, slot),
            Action::TimeUp(slot) => lease::time_up(self, next, slot),
            Action::CrashProcessor(slot) => platform::crash_processor(next, slot),
            Action::ProcessorLeaseEnds => platform::processor_lease_ends(next),
            Action::TaskLeaseEnds(task) => platform::task_lease_ends(next, task),
            Action::MarkerEnds => platform::marker_ends(next),
            Action::SweepReads(task) => sweep::read(next, task),
            Action::SweepReturns => sweep::return_task(self, next),
            Action::SweepWakes => sweep::wake(self, next),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        property::properties()
    }
}
