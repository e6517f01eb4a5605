//! Tests with servers on the local machine that stop responding, or reject requests.

mod servers;

use std::time::Duration;

use aws_smithy_http_client::tls::TrustStore;

use self::servers::{Http2, OnSecond, closing};
use super::*;

const IDLE: Duration = Duration::from_secs(60);

fn post(url: &str) -> HttpRequest {
    let mut request = HttpRequest::new("task".into());
    request.set_method("POST").unwrap();
    request.set_uri(url).unwrap();
    request
}

fn connector_trusting(certificate: &str) -> SharedHttpConnector {
    let trusted = TrustStore::empty().with_pem_certificate(certificate);
    let tls = TlsContext::builder().with_trust_store(trusted).build();
    let settings = HttpConnectorSettings::builder().build();
    connector_of(&client_trusting(tls.unwrap(), IDLE), &settings)
}

async fn status(connector: &SharedHttpConnector, url: &str) -> u16 {
    let response = connector.call(post(url)).await;
    response.unwrap().status().as_u16()
}

#[tokio::test]
async fn request_without_a_response_retires_its_http2_connection() {
    let mut server = Http2::start(OnSecond::Ignore).await;
    let connector = connector_trusting(&server.certificate);
    assert_eq!(status(&connector, &server.url).await, 200);
    // The caller stops once the request is on the dead connection.
    tokio::select! {
        response = connector.call(post(&server.url)) => panic!("{response:?}"),
        () = server.ignored() => {}
    }
    assert_eq!(status(&connector, &server.url).await, 200);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn request_that_an_http2_server_rejects_is_sent_once_more_on_another_connection() {
    for rejection in [
        OnSecond::GoAway,
        OnSecond::Reset(h2::Reason::REFUSED_STREAM),
    ] {
        let server = Http2::start(rejection).await;
        let connector = connector_trusting(&server.certificate);
        assert_eq!(status(&connector, &server.url).await, 200);
        assert_eq!(status(&connector, &server.url).await, 200, "{rejection:?}");
        assert_eq!((server.connections(), server.streams()), (2, 3));
    }
}

#[tokio::test]
async fn request_that_an_http2_server_may_have_processed_is_sent_once() {
    let server = Http2::start(OnSecond::Reset(h2::Reason::INTERNAL_ERROR)).await;
    let connector = connector_trusting(&server.certificate);
    assert_eq!(status(&connector, &server.url).await, 200);
    connector.call(post(&server.url)).await.unwrap_err();
    assert_eq!((server.connections(), server.streams()), (1, 2));
}

#[tokio::test]
async fn request_on_a_reused_connection_that_closes_is_sent_once_more() {
    let (url, requests) = closing(2).await;
    let connector = connector(&HttpConnectorSettings::builder().build(), IDLE);
    assert_eq!(status(&connector, &url).await, 200);
    assert_eq!(status(&connector, &url).await, 200);
    assert_eq!(*requests.borrow(), [1, 2, 1]);
}

#[tokio::test]
async fn request_on_a_new_connection_that_closes_is_sent_once() {
    let (url, requests) = closing(1).await;
    let connector = connector(&HttpConnectorSettings::builder().build(), IDLE);
    connector.call(post(&url)).await.unwrap_err();
    assert_eq!(*requests.borrow(), [1]);
}
