//! Of the states of one key in a batch, the newest is written.

use std::collections::{HashMap, HashSet};

use crate::create::Indexed;
use crate::task::TaskId;

/// What is written under one id, one after the other until one of them can be: a task, or the
/// states of a key, the newest first.
pub(super) type Chain = Vec<Indexed>;

/// The chains of a batch's tasks: first the first one of each id, then those that are written
/// after it.
pub(super) fn chains(tasks: Vec<Indexed>) -> (Vec<Chain>, Vec<Chain>) {
    let mut chains: Vec<Chain> = Vec::with_capacity(tasks.len());
    let mut of_key: HashMap<(TaskId, String), usize> = HashMap::new();
    for (index, task) in tasks {
        let key = task.keyed.as_ref().map(|keyed| {
            let kind = keyed.version.kind().to_owned();
            (task.id.clone(), kind)
        });
        let fresh = chains.len();
        let chain = key.map_or(fresh, |key| *of_key.entry(key).or_insert(fresh));
        if chain == fresh {
            chains.push(Chain::new());
        }
        chains[chain].push((index, task));
    }
    for chain in &mut chains {
        let version = |(_, task): &Indexed| task.keyed.as_ref().map(|keyed| keyed.version.clone());
        chain.sort_by_cached_key(|state| std::cmp::Reverse(version(state)));
    }
    let mut seen = HashSet::new();
    let is_first = |chain: &Chain| {
        let id = chain.first().map(|(_, task)| task.id.clone());
        seen.insert(id)
    };
    chains.into_iter().partition(is_first)
}
