//! The lines of pending calls that this process opened, and the limit on the number of lines.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::criteria::Criteria;
use crate::time::Micros;

/// Maximum number of open lines. Each enqueue of an agent reads the names of all open lines.
pub(crate) const MAX_LINES: usize = 1_000;

/// Time for which a process assumes that a line that it opened is still open.
const RELIED_ON: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Default)]
pub(crate) struct OpenLines(Mutex<HashMap<Criteria, Micros>>);

impl OpenLines {
    pub(crate) fn is_open(&self, criteria: &Criteria, now: Micros) -> bool {
        let opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = opened.get(criteria);
        opened.is_some_and(|opened| now.since(*opened) < RELIED_ON)
    }

    pub(crate) fn insert(&self, criteria: &Criteria, now: Micros) {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|_, at| now.since(*at) < RELIED_ON);
        opened.insert(criteria.clone(), now);
    }
}
