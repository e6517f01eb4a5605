//! Which head to read next, and when.

use std::time::Duration;

use super::{DEEP_PAGE, MAX_HEAD, MAX_PAGE_AGE, Selector, Step, Wanted};
use crate::time::Millis;

impl Selector {
    /// Returns the head to read in advance while tasks of the current head are still being taken,
    /// so that no slot waits for the index. The read is due once more tasks than slots have been
    /// taken, and no more tasks than slots are left or the head is soon too old. A slow downstream
    /// never takes that many tasks from one head. With groups, only the head's age counts.
    pub(in crate::process) fn read_ahead(&self, now: Millis) -> Option<Wanted> {
        let head = self.head.as_ref()?;
        let slots = self.smallest_page;
        let is_old = now.since(head.arrived) > MAX_PAGE_AGE / 2;
        let is_due = match self.groups {
            None => self.used > slots && (is_old || head.tasks.len() <= usize::from(slots)),
            Some(_) => is_old,
        };
        (is_due && head.next.is_some()).then(|| self.wanted_head(now))
    }

    /// Time from which the head is too old; `None` without a head.
    pub(in crate::process) fn old_from(&self) -> Option<Millis> {
        let head = self.head.as_ref()?;
        Some(head.arrived.plus(MAX_PAGE_AGE + Duration::from_millis(1)))
    }

    /// Time at which the next head is due while no task may start, in a queue with groups. Without
    /// this read, newer tasks could push a quiet group's tasks below the head unseen.
    pub(in crate::process) fn next_head(&self) -> Option<Millis> {
        self.groups.as_ref().and_then(|_| self.heads.next())
    }

    pub(super) fn read_head(&self, now: Millis) -> Step {
        Step::Read(self.wanted_head(now))
    }

    /// Returns a head of twice the number of tasks taken since the last head, from one per slot to
    /// [`MAX_HEAD`]. With groups, it is also large enough for the expected [arrivals](Heads).
    pub(in crate::process) fn wanted_head(&self, now: Millis) -> Wanted {
        let limit = match self.groups {
            None => self
                .used
                .saturating_mul(2)
                .clamp(self.smallest_page, MAX_HEAD),
            Some(_) => self
                .used
                .saturating_mul(2)
                .min(DEEP_PAGE)
                .max(self.heads.limit(now)),
        };
        Wanted { after: None, limit }
    }
}
