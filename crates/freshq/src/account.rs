//! The account and the region that a command works on, for operators.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_sts::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// Time limit for the request: the account is worth a short delay, but no more.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// An account and a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// The 12 digits of the account; `None` if AWS STS did not respond.
    pub(crate) id: Option<String>,
    pub(crate) region: String,
}

impl Account {
    /// The account, for people.
    pub(crate) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or("unknown")
    }

    /// Adds the account and the region to a JSON object.
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

/// The credentials of a command. Requests their account at most once.
#[derive(Debug)]
pub(crate) struct Caller {
    sts: Option<Client>,
    region: String,
    account: OnceCell<Account>,
}

impl Caller {
    pub(crate) fn new(aws: &SdkConfig) -> Self {
        let timeouts = TimeoutConfig::builder().operation_timeout(TIME_LIMIT);
        let config = aws_sdk_sts::config::Builder::from(aws)
            .timeout_config(timeouts.build())
            .retry_config(RetryConfig::standard().with_max_attempts(2));
        Self {
            sts: Some(Client::from_conf(config.build())),
            region: aws.region().map(ToString::to_string).unwrap_or_default(),
            account: OnceCell::new(),
        }
    }

    /// The caller of `freshq dev`, which has no accounts.
    pub(crate) fn dev() -> Self {
        let account = Account {
            id: Some("local".to_owned()),
            region: "this machine".to_owned(),
        };
        Self::known(account)
    }

    fn known(account: Account) -> Self {
        Self {
            sts: None,
            region: account.region.clone(),
            account: OnceCell::new_with(Some(account)),
        }
    }

    /// The account of the credentials. An error of AWS STS leaves it unknown, because no command
    /// depends on it. `GetCallerIdentity` needs no permission
    /// (<https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>).
    pub(crate) async fn account(&self) -> &Account {
        let request = async || {
            let identity = match &self.sts {
                Some(sts) => sts.get_caller_identity().send().await.ok(),
                None => None,
            };
            Account {
                id: identity.and_then(|identity| identity.account),
                region: self.region.clone(),
            }
        };
        self.account.get_or_init(request).await
    }
}

#[cfg(test)]
impl Caller {
    /// A caller of a test, without AWS.
    pub(crate) fn of(account: &str) -> Self {
        let account = Account {
            id: Some(account.to_owned()),
            region: "eu-central-1".to_owned(),
        };
        Self::known(account)
    }
}
