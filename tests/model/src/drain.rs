//! Checks that the queue can be emptied from every reachable state.
//!
//! A quiet state with a due task prevents that, and so does an endless cycle. No property of a
//! single state reveals a cycle, and stateright's `eventually` can miss one. The check therefore
//! explores the whole state graph, then walks backwards from the states in which every task is
//! settled. States that the backward walk does not reach are stuck.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use stateright::Model;

use crate::action::Action;
use crate::protocol::Protocol;
use crate::state::{State, Status};

#[derive(Debug)]
pub struct Drain {
    pub states: usize,
    pub transitions: usize,
    /// Number of states in which every task is settled and nothing is in flight.
    pub drained: usize,
    /// A path to a stuck state, from which no drained state can be reached.
    pub stuck: Option<Vec<Action>>,
}

pub fn walk(protocol: &Protocol) -> Drain {
    let mut graph = Graph::default();
    let mut pending = VecDeque::new();
    for state in protocol.init_states() {
        graph.number(&state, None);
        pending.push_back(state);
    }
    let mut actions = Vec::new();
    let mut from = 0;
    // Explore breadth first, so that a state's number is its index in the queue.
    while let Some(state) = pending.pop_front() {
        if is_drained(protocol, &state) {
            graph.drained.push(from);
        }
        protocol.actions(&state, &mut actions);
        for action in actions.drain(..) {
            let Some(next) = protocol.next_state(&state, action) else {
                continue;
            };
            let (to, new) = graph.number(&next, Some((from, action)));
            graph.edges.push((to, from));
            if new {
                pending.push_back(next);
            }
        }
        from += 1;
    }
    graph.finish()
}

fn is_drained(protocol: &Protocol, state: &State) -> bool {
    let tasks = &state.tasks[..usize::from(protocol.tasks)];
    state.quiet() && tasks.iter().all(|task| task.status == Status::Done)
}

#[derive(Default)]
struct Graph {
    numbers: HashMap<u64, u32>,
    /// The transition by which each state was first reached.
    parents: Vec<Option<(u32, Action)>>,
    /// Transitions, each as target and origin.
    edges: Vec<(u32, u32)>,
    drained: Vec<u32>,
}

impl Graph {
    fn number(&mut self, state: &State, parent: Option<(u32, Action)>) -> (u32, bool) {
        let next = self.parents.len() as u32;
        let fingerprint = BuildHasherDefault::<DefaultHasher>::default().hash_one(state);
        let number = *self.numbers.entry(fingerprint).or_insert(next);
        if number == next {
            self.parents.push(parent);
        }
        (number, number == next)
    }

    fn finish(mut self) -> Drain {
        self.edges.sort_unstable();
        let mut reaches = vec![false; self.parents.len()];
        let mut pending = self.drained.clone();
        while let Some(to) = pending.pop() {
            if std::mem::replace(&mut reaches[to as usize], true) {
                continue;
            }
            let first = self.edges.partition_point(|&(target, _)| target < to);
            let into = self.edges[first..]
                .iter()
                .take_while(|&&(target, _)| target == to);
            pending.extend(into.map(|&(_, from)| from));
        }
        let stuck = reaches.iter().position(|&reaches| !reaches);
        Drain {
            states: self.parents.len(),
            transitions: self.edges.len(),
            drained: self.drained.len(),
            stuck: stuck.map(|number| self.path(number)),
        }
    }

    fn path(&self, mut number: usize) -> Vec<Action> {
        let mut path = Vec::new();
        while let Some((parent, action)) = self.parents[number] {
            path.push(action);
            number = parent as usize;
        }
        path.reverse();
        path
    }
}
