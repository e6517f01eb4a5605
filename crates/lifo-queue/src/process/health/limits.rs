//! The limits on starts.

use crate::control::OperatorLimit;
use crate::process::rate::RateLimit;
use crate::process::settings::ProcessSettings;

/// The limits on starts in effect. All code that depends on the limits uses this struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) struct Limits {
    /// Maximum number of concurrent tasks.
    pub(in crate::process) concurrency: u16,
    /// Maximum number of starts per second; `None` for no limit.
    pub(in crate::process) rate: Option<RateLimit>,
}

impl Limits {
    /// Returns these limits, lowered by the operator's limit if there is one.
    pub(in crate::process) fn under(self, limit: Option<&OperatorLimit>) -> Self {
        let concurrency = limit.and_then(|limit| limit.concurrency);
        let rate = limit.and_then(|limit| limit.rate);
        Self {
            concurrency: concurrency.map_or(self.concurrency, |c| c.get().min(self.concurrency)),
            rate: rate.map_or(self.rate, |rate| {
                Some(RateLimit::lowered(self.rate, rate.interval))
            }),
        }
    }
}

impl ProcessSettings {
    /// The configured limits, before operators' limits apply.
    pub(in crate::process) fn limits(&self) -> Limits {
        Limits {
            concurrency: self.slots,
            rate: self.rate,
        }
    }
}
