//! A process, which is an invocation that can die between any two of its steps.
//!
//! A dead process takes no further step. Some of its code, such as a destructor, may still be
//! scheduled, but each of its calls stays pending. Requests that it sent earlier are executed, as
//! in a real network.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use lifo_queue::time::{Clock, Millis};
use tokio::sync::watch;

use super::clock::SkewedClock;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Function {
    CreateTasks,
    IngestTasks,
    Trigger,
    ProcessTasks,
    SweepTasks,
    /// An operator or the cloud itself. Their calls have no faults.
    Operator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// The handler returned. Lambda would freeze the process, so it must not make further calls.
    Returned,
    Died,
}

/// Time of death of a process, relative to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    /// After the request is sent, but before its response arrives.
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
    /// Start and end of the period in which the process is cut off from the table and the topics.
    pub(crate) cut_off: Option<(Millis, Millis)>,
    /// Time after which the process dies, regardless of what it does.
    pub(crate) kill_after: Option<Duration>,
}

impl Process {
    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Whether a partition cuts the process off at this time.
    pub(crate) fn is_cut_off(&self, now: Millis) -> bool {
        self.cut_off
            .is_some_and(|(from, to)| from <= now && now < to)
    }

    pub(crate) fn life(&self) -> Life {
        *self.life.borrow()
    }

    pub(crate) fn end(&self, life: Life) {
        self.life.send_replace(life);
    }

    /// Waits until the process dies.
    pub(crate) async fn died(&self) {
        let mut life = self.life.subscribe();
        // An error would mean that the sender was dropped, but `self` owns it.
        let _ended = life.wait_for(|life| *life == Life::Died).await;
    }
}
