//! Errors of the command. Each is printed as one line with its causes and a fix.

use std::error::Error;
use std::io;

use aws::error_chain;
use aws_config::profile::ProfileFileLoadError;
use aws_credential_types::provider::error::CredentialsError;
use lifo_queue::operate::OperateError;
use lifo_queue::store::{Source, StoreError};
use lifo_queue::wake::WakeError;

use crate::account::Account;
use crate::exit::Exit;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "no AWS region: use --region, set AWS_REGION, or set a region in your profile; a queue of freshq dev needs none, but --dev"
    )]
    NoRegion,
    #[error(
        "profile {0} does not exist in the AWS configuration: aws configure list-profiles lists the profiles"
    )]
    NoProfile(String),
    #[error("could not read the AWS configuration files")]
    Profiles(#[source] ProfileFileLoadError),
    #[error(
        "no queue is specified: use --env or --stack, set FRESHQ_ENV or FRESHQ_STACK, or use --dev for the queue of freshq dev"
    )]
    NoQueue,
    #[error("stack {stack} does not exist in {account}")]
    NoStack { stack: String, account: Account },
    #[error("could not read the outputs of stack {stack} in {region}")]
    Stack {
        stack: String,
        region: String,
        source: Source,
    },
    #[error(
        "stack {stack} has no output {output}: check that it is a completely deployed freshq stack"
    )]
    NoOutput { stack: String, output: &'static str },
    #[error("DynamoDB request failed")]
    Store(#[from] StoreError),
    #[error("no processor was woken; if tasks are due, the sweep wakes one within a minute")]
    Wake(#[from] WakeError),
    /// An operation on the queue failed. The message is that of [`OperateError`].
    #[error(transparent)]
    Operate(#[from] OperateError),
    #[error("{operation} failed")]
    Service {
        operation: &'static str,
        source: Source,
    },
    #[error("a local AWS does not support this resource")]
    NotLocal,
    #[error(
        "the queue's stack is unknown: use --env or --stack instead of --table; a queue of freshq dev has no stack"
    )]
    NoTemplate,
    /// The invocation of a function failed. The event may have been partly carried out.
    #[error("the invocation of {function} failed; its event may have been partly processed")]
    Function { function: String, source: Source },
    /// A function rejected its event because a field is invalid. Nothing was changed.
    #[error("{0}")]
    Rejected(String),
    #[error(
        "the function create-tasks is unknown: use --env or --stack instead of --table, with a stack that has the \
         output CreateTasksFunctionName"
    )]
    NoCreateTasks,
    #[error("{place}: {fault}")]
    Input { place: String, fault: String },
    #[error("could not read or write {path}")]
    File { path: String, source: io::Error },
    #[error("could not listen on port {port} of 127.0.0.1; --port 0 selects a free port")]
    Server { port: u16, source: io::Error },
    #[error("freshq dev failed")]
    Dev(#[source] Source),
    #[error("the AWS CLI could not be started; install it, or run elsewhere: {command}")]
    NoAwsCli { command: String, source: io::Error },
    #[error("the live view requires a terminal as standard output; use --once instead")]
    NoScreen,
    /// A confirmation requires a terminal as standard input. Contains the option to use instead.
    #[error("the confirmation requires a terminal as standard input; use {0} instead")]
    NoTerminal(&'static str),
    #[error("could not read from or write to the terminal")]
    Terminal(#[source] io::Error),
}

/// The fix for missing, expired or invalid credentials. The last command in the text works with
/// every sign-in method that the AWS CLI supports.
const SIGN_IN: &str = "sign in (aws sso login), set AWS_PROFILE, set AWS_ACCESS_KEY_ID and \
                       AWS_SECRET_ACCESS_KEY, or export the credentials of the AWS CLI: \
                       eval \"$(aws configure export-credentials --format env)\"";

/// Part of the error of a profile with a `login_session`, which freshq is built without support for.
const LOGIN_SESSION: &str = "credentials-login";

/// The fix for a profile of `aws login`.
const LOGIN: &str = "freshq cannot read the session of aws login; sign in with aws login, then export the credentials \
                     of the AWS CLI: eval \"$(aws configure export-credentials --format env)\"";

/// AWS error codes that occur in error messages, each with a fix
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html>).
const REMEDIES: [(&str, &str); 8] = [
    (
        "Connection refused",
        "no process listens on this address; check that freshq dev or the local AWS is running",
    ),
    ("ExpiredToken", SIGN_IN),
    ("UnrecognizedClientException", SIGN_IN),
    ("InvalidClientTokenId", SIGN_IN),
    ("SignatureDoesNotMatch", SIGN_IN),
    (
        "AccessDenied",
        "docs/how-to/operate.md, \"Permissions\", lists what each command needs",
    ),
    (
        "AuthorizationError",
        "the command needs sns:Publish on the topic ProcessTasksTopic",
    ),
    (
        "ResourceNotFoundException",
        "check the name of the table, the account and the region",
    ),
];

impl Failure {
    pub(crate) fn input(place: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::Input {
            place: place.into(),
            fault: fault.into(),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoRegion
            | Self::NoProfile(_)
            | Self::Profiles(_)
            | Self::NoQueue
            | Self::NoTerminal(_)
            | Self::NoCreateTasks
            | Self::NoTemplate
            | Self::NoScreen
            | Self::Rejected(_)
            | Self::Input { .. } => Exit::Usage,
            _ => Exit::Failed,
        }
    }

    /// Formats the error with its causes and, if known, its fix.
    pub(crate) fn line(&self) -> String {
        // Messages from AWS and from the AWS client can contain line breaks.
        let chain = error_chain::chain(self);
        let chain = chain.split_whitespace().collect::<Vec<_>>().join(" ");
        if is_caused_by::<CredentialsError>(self) {
            let remedy = match chain.contains(LOGIN_SESSION) {
                true => LOGIN,
                false => SIGN_IN,
            };
            return format!("{self}: no valid AWS credentials ({remedy})");
        }
        match self.remedy(&chain) {
            Some(remedy) => format!("{chain} ({remedy})"),
            None => chain,
        }
    }

    fn remedy(&self, chain: &str) -> Option<&'static str> {
        if matches!(self, Self::NoStack { .. }) {
            return Some(
                "is it deployed (make deploy ENV=…), and are these the right account and region?",
            );
        }
        let known = REMEDIES.iter().find(|(code, _)| chain.contains(code));
        known.map(|(_, remedy)| *remedy)
    }
}

fn is_caused_by<E: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| (*error).source()).any(|error| error.is::<E>())
}

#[cfg(test)]
mod tests {
    use simulator::texts::has;

    use super::*;

    fn rejected(code: &str) -> Failure {
        let source = "what\nAWS said".into();
        let (operation, code) = ("Query", code.to_owned());
        Failure::Store(StoreError::Rejected {
            operation,
            code,
            source,
        })
    }

    #[test]
    fn rejected_event_is_a_usage_error_without_a_remedy() {
        let fault = "command match: field criteria.langauge is not a dimension; the dimensions are language, gender";
        let rejected = Failure::Rejected(fault.to_owned());
        assert_eq!(
            (rejected.line().as_str(), rejected.exit()),
            (fault, Exit::Usage)
        );
    }

    #[test]
    fn a_failure_is_one_line_with_its_causes_and_its_remedy() {
        let line = rejected("ResourceNotFoundException").line();
        let expected = "DynamoDB request failed: Query: rejected by DynamoDB (ResourceNotFoundException): what AWS said \
             (check the name of the table, the account and the region)";
        assert_eq!(line, expected);
        has(&rejected("ExpiredTokenException").line(), "aws sso login");
        let remedy = "docs/how-to/operate.md, \"Permissions\"";
        has(&rejected("AccessDeniedException").line(), remedy);
        assert!(
            rejected("Other").line().ends_with("what AWS said"),
            "no remedy is made up"
        );
    }
}
