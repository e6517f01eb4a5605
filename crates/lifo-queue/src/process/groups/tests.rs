use std::collections::HashMap;

use super::*;
use crate::process::filter::Pass;
use crate::task::Ttl;

fn task(group: &str, created: i64) -> Candidate {
    Candidate {
        id: TaskId::from_stored(format!("{group}/{created}")),
        created: Millis(created),
        ttl: Ttl::Missing,
        not_before: None,
        attempts: 0,
        lease_expired: false,
    }
}

#[test]
fn number_of_known_candidates_is_bounded() {
    let mut groups = Groups::new(Order::NewestFirst);
    for page in 0..100 {
        let from = page * 1_000;
        let tasks = (from..from + 1_000).map(|at| task(&format!("g{}", at % 3_000), at));
        groups.add(tasks.collect(), None, Some(Millis(from)), Millis(from));
    }
    let known: usize = groups.groups.values().map(|group| group.tasks.len()).sum();
    assert!(known <= KEPT_OF_ALL + 1_000, "{known}");
    let (mut pass, skip) = (Pass::default(), HashMap::new());
    let mut any = |_: &Candidate| true;
    let mut filter = Filter::new(&mut pass, &skip, Millis(0), &mut any);
    assert!(
        groups
            .pop(Millis(200_000), &mut filter, &|_: &str| None)
            .is_some()
    );
}
