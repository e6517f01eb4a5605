//! Fake AWS: real AWS clients whose connector returns prepared responses, without a network.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use aws_types::region::Region;
use serde_json::{Value, json};

/// A prepared response as status, headers and body. Status 0 breaks the connection.
pub(crate) type Prepared = (u16, Vec<(&'static str, &'static str)>, String);

/// A prepared response without headers.
pub(crate) fn response(status: u16, body: impl Into<String>) -> Prepared {
    (status, Vec::new(), body.into())
}

/// Builds the SQS response to a batch from the ids of the accepted entries and, per rejected entry,
/// its id, whether the sender is at fault, and an error code.
pub(crate) fn batch_response(taken: &[usize], rejected: &[(usize, bool, &str)]) -> Prepared {
    let taken: Vec<_> = taken
        .iter()
        .map(|id| json!({"Id": id.to_string(), "MessageId": "m", "MD5OfMessageBody": "d"}))
        .collect();
    let rejected: Vec<_> = rejected
        .iter()
        .map(|(id, ours, code)| {
            json!({"Id": id.to_string(), "SenderFault": ours, "Code": code, "Message": "because"})
        })
        .collect();
    let body = json!({"Successful": taken, "Failed": rejected});
    response(200, body.to_string())
}

/// An SQS error response.
pub(crate) fn sqs_error(status: u16, code: &str) -> Prepared {
    let body = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "because"});
    response(status, body.to_string())
}

/// A request that a client made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) uri: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Made {
    /// The entries of an SQS batch.
    pub(crate) fn entries(&self) -> Vec<Value> {
        let request: Value = serde_json::from_str(&self.body).unwrap();
        request["Entries"].as_array().unwrap().clone()
    }
}

/// A connector that returns prepared responses in order, then repeats the last. Records requests.
#[derive(Clone, Debug)]
pub(crate) struct FakeAws {
    responses: Arc<Mutex<VecDeque<Prepared>>>,
    made: Arc<Mutex<Vec<Made>>>,
    delay: Duration,
}

impl FakeAws {
    pub(crate) fn returning(responses: impl IntoIterator<Item = Prepared>) -> Self {
        let responses = Arc::new(Mutex::new(responses.into_iter().collect()));
        Self {
            responses,
            made: Arc::default(),
            delay: Duration::ZERO,
        }
    }

    /// Delays each response by this time.
    pub(crate) fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The configuration that a function loads, but with this fake connector.
    pub(crate) fn config(&self) -> SdkConfig {
        let connector = SharedHttpConnector::new(self.clone());
        let credentials = Credentials::new(
            "AKIDEXAMPLE",
            "hidden-key",
            Some("hidden-token".into()),
            None,
            "test",
        );
        SdkConfig::builder()
            .behavior_version(aws::client::behavior())
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .region(Region::new("eu-west-1"))
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build()
    }

    /// An SQS client without retries, so that each call is one request.
    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        let config = aws_sdk_sqs::config::Builder::from(&self.config())
            .retry_config(aws_sdk_sqs::config::retry::RetryConfig::disabled());
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    /// Returns the requests made so far.
    pub(crate) fn made(&self) -> Vec<Made> {
        self.made.lock().unwrap().clone()
    }

    fn next(&self) -> Prepared {
        let mut responses = self.responses.lock().unwrap();
        if responses.len() > 1 {
            return responses.pop_front().unwrap();
        }
        responses.front().cloned().unwrap()
    }
}

impl HttpConnector for FakeAws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let headers = request
            .headers()
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        let body = String::from_utf8(request.body().bytes().unwrap().to_vec()).unwrap();
        self.made.lock().unwrap().push(Made {
            uri: request.uri().to_owned(),
            headers,
            body,
        });
        let (status, headers, body) = self.next();
        if status == 0 {
            return HttpConnectorFuture::ready(Err(ConnectorError::io("connection reset".into())));
        }
        let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
        for (name, value) in headers {
            response.headers_mut().insert(name, value);
        }
        let delay = self.delay;
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(delay).await;
            Ok(response)
        })
    }
}
