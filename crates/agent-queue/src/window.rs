//! The number of agents at the start of a queue among which a call chooses.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::criteria::Criteria;

/// The windows of this process, one per criteria. A window is 1 without contention. It grows to its
/// maximum when an agent is lost, and shrinks by 0.5 with each match.
#[derive(Debug)]
pub(crate) struct Windows {
    most: u16,
    open: Mutex<HashMap<Criteria, f64>>,
}

impl Windows {
    /// Creates windows that grow to `most` agents.
    pub(crate) fn up_to(most: u16) -> Self {
        Self {
            most: most.max(1),
            open: Mutex::default(),
        }
    }

    pub(crate) fn most(&self) -> usize {
        self.most.into()
    }

    pub(crate) fn of(&self, criteria: &Criteria) -> usize {
        self.lock()
            .get(criteria)
            .map_or(1, |window| *window as usize)
    }

    /// Sets the window to its maximum, because another transaction took the agent.
    pub(crate) fn lost(&self, criteria: &Criteria) {
        self.lock().insert(criteria.clone(), f64::from(self.most));
    }

    /// Shrinks the window after a match. A window of 1 is not stored.
    pub(crate) fn won(&self, criteria: &Criteria) {
        let mut open = self.lock();
        if let Some(window) = open.get_mut(criteria) {
            *window -= 0.5;
            if *window <= 1.0 {
                open.remove(criteria);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Criteria, f64>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_grows_to_its_maximum_after_a_loss_and_shrinks_with_each_match() {
        let (windows, criteria) = (Windows::up_to(8), Criteria::from_stored("Spanish#M"));
        let mut seen = vec![];
        for _ in 0..2 {
            windows.lost(&criteria);
            seen.push(windows.of(&criteria));
        }
        for _ in 0..14 {
            windows.won(&criteria);
            seen.push(windows.of(&criteria));
        }
        assert_eq!(seen[..2], [8, 8]);
        assert_eq!(seen[2..], [7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1]);
        assert!(windows.lock().is_empty(), "a window of 1 is not kept");
        assert_eq!(windows.of(&Criteria::from_stored("*#M")), 1);
    }

    #[test]
    fn window_of_one_does_not_grow() {
        let (windows, criteria) = (Windows::up_to(1), Criteria::from_stored("Spanish#M"));
        windows.lost(&criteria);
        assert_eq!(windows.of(&criteria), 1);
    }
}
