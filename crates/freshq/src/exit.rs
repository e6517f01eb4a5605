//! How the command ends.

use std::process::ExitCode;

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// 0: all that was asked for is done.
    Done,
    /// 1: some of it was not done, because of how things stand.
    NotAll,
    /// 2: the command line or the configuration is wrong; nothing was done.
    Usage,
    /// 3: AWS, a file or the terminal failed; some of it may be done.
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
