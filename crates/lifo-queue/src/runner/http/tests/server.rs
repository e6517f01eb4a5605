//! Servers on the local machine that stop when dropped.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

/// A request as the server received it.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Call {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// An HTTP server that records its calls.
pub(super) struct Server {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
    serving: JoinHandle<()>,
}

impl Server {
    /// Starts a server. `respond` gets each call and the number of calls before it.
    pub(super) async fn start(
        respond: impl Fn(&Call, usize) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let remembered = Arc::clone(&calls);
        let router = Router::new().fallback(move |request: Request<Body>| async move {
            let (parts, body) = request.into_parts();
            let call = Call {
                method: parts.method.to_string(),
                uri: parts.uri.to_string(),
                headers: parts.headers,
                body: to_bytes(body, usize::MAX).await.unwrap().to_vec(),
            };
            let mut calls = remembered.lock().unwrap();
            let response = respond(&call, calls.len());
            calls.push(call);
            response
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            axum::serve(listener, router.into_make_service())
                .await
                .unwrap();
        });
        Self {
            address,
            calls,
            serving,
        }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The behavior of a [`raw`] server after its response.
#[derive(Clone, Copy)]
pub(super) enum After {
    /// Closes the connection.
    Close,
    /// Keeps the connection open without sending more.
    Hang,
}

/// A server that does not interpret HTTP.
pub(super) struct Raw {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

/// Starts a server that sends these bytes on each connection.
pub(super) async fn raw(response: &'static [u8], after: After) -> Raw {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            // The server reads the request first. Otherwise, the kernel would reset the connection,
            // and the response would be lost.
            let mut request = [0; 16 * 1024];
            let mut length = 0;
            while !request[..length].ends_with(b"}") && !request.starts_with(&[22]) {
                match connection.read(&mut request[length..]).await {
                    Ok(read) if read > 0 => length += read,
                    _ => break,
                }
            }
            connection.write_all(response).await.unwrap();
            match after {
                After::Close => drop(connection),
                After::Hang => open.push(connection),
            }
        }
    });
    Raw { address, serving }
}

/// An address without a server, which no other process can bind.
pub(super) fn closed_port() -> Raw {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let _bound = socket;
        std::future::pending().await
    });
    Raw { address, serving }
}

impl Raw {
    pub(super) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/", self.address)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
