//! Selects the newest state of each key in a batch.

use std::collections::{HashMap, HashSet};

use crate::create::Indexed;
use crate::task::TaskId;

/// A task, or the states of a key, newest first. They are tried in this order until one is
/// written.
pub(super) type Chain = Vec<Indexed>;

/// Groups the tasks of a batch into chains. Returns the first chain of each id, and the chains to
/// write after these.
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
