//! The account and the region in which a command works, for display to operators.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_sts::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// Timeout for the request. It is short, because no command depends on the account.
const TIME_LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// The 12 digits of the account; `None` if AWS STS did not respond.
    pub(crate) id: Option<String>,
    pub(crate) region: String,
}

impl Account {
    pub(crate) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or("unknown")
    }

    pub(crate) fn add_to(&self, object: &mut Value) {
        object["account"] = json!(self.id);
        object["region"] = json!(self.region);
    }
}

impl Display for Account {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "account {}, {}", self.id(), self.region)
    }
}

/// The credentials that a command uses. Their identity is requested from AWS at most once.
#[derive(Debug)]
pub(crate) struct Caller {
    sts: Option<Client>,
    region: String,
    identity: OnceCell<Identity>,
}

#[derive(Debug)]
struct Identity {
    account: Account,
    /// The user or role, for display to other operators.
    principal: String,
}

/// Name of the principal if AWS STS did not respond.
const UNKNOWN: &str = "an unknown operator";

impl Caller {
    pub(crate) fn new(aws: &SdkConfig) -> Self {
        let timeouts = TimeoutConfig::builder().operation_timeout(TIME_LIMIT);
        let config = aws_sdk_sts::config::Builder::from(aws)
            .timeout_config(timeouts.build())
            .retry_config(RetryConfig::standard().with_max_attempts(2));
        Self {
            sts: Some(Client::from_conf(config.build())),
            region: aws.region().map(ToString::to_string).unwrap_or_default(),
            identity: OnceCell::new(),
        }
    }

    pub(crate) fn dev() -> Self {
        let account = Account {
            id: Some("local".to_owned()),
            region: "this machine".to_owned(),
        };
        Self::known(account, "a local operator")
    }

    fn known(account: Account, principal: &str) -> Self {
        let principal = principal.to_owned();
        Self {
            sts: None,
            region: account.region.clone(),
            identity: OnceCell::new_with(Some(Identity { account, principal })),
        }
    }

    /// Returns the account of the credentials. If AWS STS fails, the account stays unknown, because
    /// no command depends on it. `GetCallerIdentity` requires no permission
    /// (<https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>).
    pub(crate) async fn account(&self) -> &Account {
        &self.identity().await.account
    }

    /// Returns the user or role of the credentials, for example `assumed-role/Operator/ana`.
    pub(crate) async fn principal(&self) -> &str {
        &self.identity().await.principal
    }

    async fn identity(&self) -> &Identity {
        let request = async || {
            let identity = match &self.sts {
                Some(sts) => sts.get_caller_identity().send().await.ok(),
                None => None,
            };
            let arn = identity.as_ref().and_then(|identity| identity.arn());
            let principal = arn.and_then(|arn| arn.rsplit(':').next());
            Identity {
                principal: principal.unwrap_or(UNKNOWN).to_owned(),
                account: Account {
                    id: identity.and_then(|identity| identity.account),
                    region: self.region.clone(),
                },
            }
        };
        self.identity.get_or_init(request).await
    }
}

#[cfg(test)]
impl Account {
    pub(crate) fn example() -> Self {
        Self {
            id: Some("111122223333".to_owned()),
            region: "eu-central-1".to_owned(),
        }
    }
}

#[cfg(test)]
impl Caller {
    pub(crate) fn example() -> Self {
        Self::known(Account::example(), "user/ana")
    }
}
