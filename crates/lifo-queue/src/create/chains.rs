//! Groups the tasks in a request or batch by id.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::Indexed;

/// The states of a key, newest first, or the tasks with the same id, in their original order.
/// Inserts try the tasks in this order until one is written.
pub(crate) type Chain = Vec<Indexed>;

/// Groups tasks into chains. Returns the first chain per id, and the chains to write afterward,
/// whose tasks can't be compared with those of the first chain.
pub(crate) fn chains(tasks: Vec<Indexed>) -> (Vec<Chain>, Vec<Chain>) {
    let mut chains: Vec<Chain> = Vec::with_capacity(tasks.len());
    let mut of_id = HashMap::new();
    for (index, task) in tasks {
        let kind = task.keyed.as_ref().map(|keyed| keyed.version.kind());
        let id = (task.id.clone(), kind.map(str::to_owned));
        let chain = *of_id.entry(id).or_insert(chains.len());
        if chain == chains.len() {
            chains.push(Chain::new());
        }
        chains[chain].push((index, task));
    }
    for chain in &mut chains {
        chain.sort_by_cached_key(|(_, task)| {
            Reverse(task.keyed.as_ref().map(|keyed| keyed.version.clone()))
        });
    }
    let mut seen = HashSet::new();
    let is_first = |chain: &Chain| {
        let id = chain.first().map(|(_, task)| task.id.clone());
        seen.insert(id)
    };
    chains.into_iter().partition(is_first)
}
