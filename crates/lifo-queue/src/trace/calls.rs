//! Records requests to AWS and to the HTTP endpoint. Each request is a subsegment and carries the
//! header of its trace.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::{
    RuntimeComponents, RuntimeComponentsBuilder,
};
use aws_smithy_types::config_bag::ConfigBag;
use serde_json::{Value, json};

use super::header::fresh_id;
use super::span::seconds;
use super::{Context, TraceHeader};
use crate::time::Millis;

/// The HTTP header for the trace. Signatures do not cover it, so it may change after signing.
pub const TRACE_ID_HEADER: &str = "x-amzn-trace-id";
/// The HTTP header for the same trace at endpoints outside AWS, as defined by [W3C Trace
/// Context](https://www.w3.org/TR/trace-context/).
pub const TRACEPARENT_HEADER: &str = "traceparent";

/// An HTTP client or connector that records its calls. Outside a traced invocation, it has no
/// effect.
#[derive(Debug)]
pub struct Traced<C>(pub C);

impl HttpClient for Traced<SharedHttpClient> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Traced(self.0.http_connector(settings, components)))
    }

    fn validate_base_client_config(
        &self,
        components: &RuntimeComponentsBuilder,
        config: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.validate_base_client_config(components, config)
    }

    fn validate_final_config(
        &self,
        components: &RuntimeComponents,
        config: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.validate_final_config(components, config)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.0.connector_metadata()
    }
}

impl<C: HttpConnector> HttpConnector for Traced<C> {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let Some(mut call) = Call::start(&mut request) else {
            return self.0.call(request);
        };
        let response = self.0.call(request);
        HttpConnectorFuture::new(async move {
            let response = response.await;
            call.responded(&response);
            response
        })
    }
}

/// A request in progress. It is recorded when dropped, without a status if no response arrived.
struct Call {
    context: Context,
    id: String,
    /// The service, or the endpoint's host.
    name: String,
    operation: Option<String>,
    is_aws: bool,
    started: Millis,
    status: Option<u16>,
}

impl Call {
    /// Sets the request's trace headers. Returns the call if it may have to be recorded.
    fn start(request: &mut HttpRequest) -> Option<Self> {
        let context = super::current()?;
        let id = fresh_id();
        let headers = request.headers_mut();
        let service = headers.get("x-amz-user-agent").and_then(service);
        if let Some(header) = context.outgoing(&id) {
            let lineage = headers.get(TRACE_ID_HEADER).map_or("", lineage);
            headers.insert(TRACE_ID_HEADER, format!("{header}{lineage}"));
        }
        if let (None, Some(trace)) = (&service, context.span.header()) {
            headers.insert(TRACEPARENT_HEADER, trace.traceparent(&id));
        }
        let headers = request.headers();
        let target = headers.get("x-amz-target");
        let operation = target.and_then(|target| target.rsplit('.').next());
        let operation = operation.or_else(|| action(request.body().bytes()?));
        let is_wanted = context.span.is_wanted();
        is_wanted.then(|| Self {
            id,
            is_aws: service.is_some(),
            name: service.unwrap_or_else(|| host(request.uri())),
            operation: operation.map(str::to_owned),
            started: context.span.tracer.clock.now(),
            status: None,
            context,
        })
    }

    fn responded(&mut self, response: &Result<HttpResponse, ConnectorError>) {
        self.status = response.as_ref().ok().map(|there| there.status().as_u16());
    }

    fn document(&self) -> Value {
        let ended = self.context.span.tracer.clock.now();
        let mut document = json!({
            "id": self.id,
            "name": self.name,
            "namespace": if self.is_aws { "aws" } else { "remote" },
            "start_time": seconds(self.started),
            "end_time": seconds(ended),
        });
        if let Some(operation) = &self.operation {
            document["aws"] = json!({"operation": operation});
        }
        match self.status {
            Some(status) => {
                document["http"] = json!({"response": {"status": status}});
                document["throttle"] = json!(status == 429);
                document["error"] = json!((400..500).contains(&status));
                document["fault"] = json!(status >= 500);
            }
            None => document["fault"] = json!(true),
        }
        document
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.context.span.add(self.document());
    }
}

impl Context {
    /// Returns the trace header of a call; `None` keeps the header that the SDK sets.
    fn outgoing(&self, call: &str) -> Option<String> {
        if let Some(root) = &self.fresh_root {
            return Some(format!("Root={root}"));
        }
        let header = self.span.header()?;
        let parent = Some(call.to_owned());
        Some(TraceHeader { parent, ..header }.to_string())
    }
}

/// The field with which Lambda counts the invocations in a chain, to be passed on unchanged.
fn lineage(header: &str) -> &str {
    header.find(";Lineage=").map_or("", |at| {
        let end = header[at + 1..]
            .find(';')
            .map_or(header.len(), |end| at + 1 + end);
        &header[at..end]
    })
}

/// X-Ray's name for the service that an SDK client calls.
fn service(user_agent: &str) -> Option<String> {
    let mut words = user_agent.split(' ');
    let api = words.find_map(|word| word.strip_prefix("api/"))?;
    let name = api.split('/').next()?;
    Some(match name {
        "dynamodb" => "DynamoDB".to_owned(),
        "lambda" => "Lambda".to_owned(),
        name => name.to_uppercase(),
    })
}

/// The operation of a request in the query protocol, which SNS uses.
fn action(body: &[u8]) -> Option<&str> {
    let rest = body.strip_prefix(b"Action=")?;
    let action = rest.split(|byte| *byte == b'&').next()?;
    std::str::from_utf8(action).ok()
}

fn host(uri: &str) -> String {
    let uri: Option<http::Uri> = uri.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host);
    host.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lineage_is_found_at_any_position_in_the_header() {
        let found = ";Lineage=1:25c8a9d2:0";
        assert_eq!(lineage("Root=1-a;Lineage=1:25c8a9d2:0;Sampled=1"), found);
        assert_eq!(lineage("Root=1-a;Sampled=1;Lineage=1:25c8a9d2:0"), found);
        assert_eq!(lineage("Root=1-a;Sampled=1"), "");
    }

    #[test]
    fn services_and_operations_use_x_ray_names() {
        let agent =
            |api| format!("aws-sdk-rust/1.3.9 ua/2.1 api/{api}/1.121.0 os/linux lang/rust/1.95");
        for (api, name) in [
            ("dynamodb", "DynamoDB"),
            ("lambda", "Lambda"),
            ("sns", "SNS"),
        ] {
            assert_eq!(service(&agent(api)).as_deref(), Some(name));
        }
        assert_eq!(
            action(b"Action=Publish&Version=2010-03-31"),
            Some("Publish")
        );
        assert_eq!(action(b"{}"), None);
        assert_eq!(
            host("https://api.example.com/tasks?secret=1"),
            "api.example.com"
        );
    }
}
