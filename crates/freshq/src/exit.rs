//! Exit codes.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// 0: everything that was requested is done.
    Done,
    /// 1: not everything was done, or `doctor` found a problem. The report says why.
    NotAll,
    /// 2: the command line or the configuration is wrong; nothing was done.
    Usage,
    /// 3: AWS, a file or the terminal failed; the request may be done in part.
    Failed,
    /// 4: the operator declined; nothing was done.
    Declined,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::NotAll => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
            Exit::Declined => 4,
        })
    }
}
