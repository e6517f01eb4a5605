use aws_sdk_dynamodb::config::{Credentials, Region};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_runtime_api::client::result::SdkError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

#[tokio::test]
async fn attempt_ends_although_the_response_body_stalls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let _request = connection.read(&mut [0; 4096]).await;
        let begin = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{";
        connection.write_all(begin).await.unwrap();
        std::future::pending::<()>().await;
    });
    let http = aws_smithy_http_client::Builder::new().build_http();
    let attempt = timeouts().operation_attempt_timeout(Duration::from_millis(50));
    let config = Config::builder()
        .behavior_version(behavior())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("local", "local", None, None, "test"))
        .http_client(http)
        .timeout_config(attempt.build())
        .stalled_stream_protection(stalled_streams())
        .retry_config(retries().with_max_attempts(1))
        .build();
    let error = Client::from_conf(config)
        .list_tables()
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
}
