//! A fake of CloudFormation, SNS and STS with the actions that `freshq` uses.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use percent_encoding::percent_decode_str;

/// The account id of the access key `key-of-prod`.
pub(crate) const PROD: &str = "222222222222";
/// The account id of every other access key.
pub(crate) const DEV: &str = "111111111111";

type Fields = BTreeMap<String, String>;

/// The services on the loopback interface. They end with the test's runtime.
pub(crate) struct Aws {
    address: SocketAddr,
    state: Arc<Services>,
}

#[derive(Default)]
struct Services {
    /// The table of each stack. A stack with an empty table name has no outputs.
    stacks: Mutex<Fields>,
    /// The access key and the action of each request.
    requests: Mutex<Vec<(String, String)>>,
    /// Whether STS is unreachable.
    without_sts: AtomicBool,
}

impl Aws {
    pub(crate) async fn start() -> Self {
        let state = Arc::<Services>::default();
        let routes = Router::new()
            .route("/", post(respond))
            .with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, state }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn deploy(&self, stack: &str, table: &str) {
        let mut stacks = self.state.stacks.lock().unwrap();
        stacks.insert(stack.to_owned(), table.to_owned());
    }

    /// Returns the actions that were requested with this access key since the last call.
    pub(crate) fn actions_of(&self, key: &str) -> Vec<String> {
        let mut requests = self.state.requests.lock().unwrap();
        let taken = std::mem::take(&mut *requests);
        let own = taken.into_iter().filter(|(by, _)| by == key);
        own.map(|(_, action)| action).collect()
    }

    pub(crate) fn disconnect_sts(&self) {
        self.state.without_sts.store(true, Ordering::Relaxed);
    }
}

/// Decodes the query protocol of the services: a form with the action's name and its fields.
fn fields(form: &str) -> Fields {
    let decoded = |text| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Returns the access key that signed a request.
fn access_key(headers: &HeaderMap) -> String {
    let signature = headers["authorization"].to_str().unwrap();
    let (_, credential) = signature.split_once("Credential=").unwrap();
    credential.split('/').next().unwrap().to_owned()
}

async fn respond(
    State(services): State<Arc<Services>>,
    headers: HeaderMap,
    form: String,
) -> (StatusCode, String) {
    let asked = fields(&form);
    let key = access_key(&headers);
    let request = (key.clone(), asked["Action"].clone());
    services.requests.lock().unwrap().push(request);
    match asked["Action"].as_str() {
        "GetCallerIdentity" if services.without_sts.load(Ordering::Relaxed) => {
            (StatusCode::SERVICE_UNAVAILABLE, String::new())
        }
        "GetCallerIdentity" => (StatusCode::OK, identity(&key)),
        "DescribeStacks" => services.describe(&asked["StackName"]),
        "Publish" => {
            let body = "<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>";
            (StatusCode::OK, body.to_owned())
        }
        other => (StatusCode::NOT_IMPLEMENTED, other.to_owned()),
    }
}

fn identity(key: &str) -> String {
    let account = match key {
        "key-of-prod" => PROD,
        _ => DEV,
    };
    format!(
        "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>{account}</Account>\
         </GetCallerIdentityResult></GetCallerIdentityResponse>"
    )
}

impl Services {
    fn describe(&self, stack: &str) -> (StatusCode, String) {
        let Some(table) = self.stacks.lock().unwrap().get(stack).cloned() else {
            let error = format!(
                "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>\
                 <Message>Stack with id {stack} does not exist</Message></Error>\
                 <RequestId>1</RequestId></ErrorResponse>"
            );
            return (StatusCode::BAD_REQUEST, error);
        };
        let member = |key: &str, value: &str| {
            format!(
                "<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>"
            )
        };
        let topic = "arn:aws:sns:us-east-1:000000000000:process";
        let outputs = match table.as_str() {
            "" => String::new(),
            table => {
                member("QueueTableName", table)
                    + &member("ProcessTasksTopicArn", topic)
                    + &member("CreateTasksFunctionName", "create-tasks")
            }
        };
        let body = format!(
            "<DescribeStacksResponse><DescribeStacksResult><Stacks><member>\
             <StackName>{stack}</StackName><CreationTime>2027-01-15T08:00:00Z</CreationTime>\
             <StackStatus>CREATE_COMPLETE</StackStatus><Outputs>{outputs}</Outputs>\
             </member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
        );
        (StatusCode::OK, body)
    }
}
