//! A process: an invocation that can die between any two of its steps.
//!
//! A process that died takes no further step, whatever of it is still scheduled: each of its
//! calls stays pending, in place of a destructor that could do something. Requests that it sent
//! before are executed nevertheless, as in a real network.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use lifo_queue::time::{Clock, Millis};
use tokio::sync::watch;

use super::clock::SkewedClock;

/// Whose code a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Function {
    CreateTasks,
    Trigger,
    ProcessTasks,
    SweepTasks,
    /// A person, or the cloud itself: no faults.
    Operator,
}

/// The outcome of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// Its handler returned: whatever it does from now on would be frozen.
    Returned,
    Died,
}

/// When, relative to a call, a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    /// The request is on its way.
    During,
    After,
}

pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) function: Function,
    pub(crate) clock: SkewedClock,
    pub(crate) ahead_ms: i64,
    pub(crate) started: Millis,
    pub(super) life: watch::Sender<Life>,
    pub(super) calls: AtomicU32,
    pub(super) kill_at: Option<(u32, When)>,
    /// No answers from the table in this time.
    pub(crate) cut_off: Option<(Millis, Millis)>,
    /// Dies then, whatever it does.
    pub(crate) kill_after: Option<Duration>,
}

impl Process {
    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(crate) fn life(&self) -> Life {
        *self.life.borrow()
    }

    pub(crate) fn end(&self, life: Life) {
        self.life.send_replace(life);
    }

    /// Returns when the process died.
    pub(crate) async fn died(&self) {
        let mut life = self.life.subscribe();
        // An error would mean that the sender is gone, and it is ours.
        let _ended = life.wait_for(|life| *life == Life::Died).await;
    }
}
