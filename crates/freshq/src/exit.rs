//! The exit codes of `freshq`.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All requested work is done.
    Done = 0,
    /// Some work is not done, or `doctor` found a problem. The report says why.
    NotAll = 1,
    /// The command line or the configuration is invalid; nothing was done.
    Usage = 2,
    /// AWS, a file or the terminal failed; the request may be partly done.
    Failed = 3,
    /// The operator declined; nothing was done.
    Declined = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
