//! Servers that speak just enough of a protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Types and flags of frames (<https://www.rfc-editor.org/rfc/rfc9113#section-6>).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END: u8 = 1 | 4;
/// `:status: 200` in HPACK.
const STATUS_200: &[u8] = &[0x88];

/// What the server does with the second request on its first connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnSecond {
    /// Nothing, now and later, as if the connection were dead.
    Ignore,
    /// Announces that it processed only the first request.
    GoAway,
    Reset(h2::Reason),
}

/// An HTTPS server with HTTP/2 only, which responds to all other requests with status 200.
pub(super) struct Http2 {
    pub(super) url: String,
    /// The certificate that its clients trust, in PEM.
    pub(super) certificate: String,
    connections: Arc<AtomicUsize>,
    streams: Arc<AtomicUsize>,
    ignored: mpsc::Receiver<()>,
}

impl Http2 {
    pub(super) async fn start(on_second: OnSecond) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tls = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "https://localhost:{}/",
            listener.local_addr().unwrap().port()
        );
        let (connections, streams) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let (report, ignored) = mpsc::channel(1);
        let (accepted, received) = (connections.clone(), streams.clone());
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let is_first = accepted.fetch_add(1, Ordering::SeqCst) == 0;
                let on_second = is_first.then_some(on_second);
                let connection = tls.accept(socket).await.unwrap();
                tokio::spawn(serve(
                    connection,
                    on_second,
                    received.clone(),
                    report.clone(),
                ));
            }
        });
        Self {
            url,
            certificate: cert.pem(),
            connections,
            streams,
            ignored,
        }
    }

    /// Waits until the server has ignored a request.
    pub(super) async fn ignored(&mut self) {
        self.ignored.recv().await.unwrap();
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The number of requests received.
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::SeqCst)
    }
}

/// Serves a connection until the client closes it.
async fn serve(
    mut connection: impl AsyncRead + AsyncWrite + Unpin,
    on_second: Option<OnSecond>,
    streams: Arc<AtomicUsize>,
    ignored: mpsc::Sender<()>,
) {
    let mut preface = [0; PREFACE.len()];
    connection.read_exact(&mut preface).await.unwrap();
    assert_eq!(preface, PREFACE);
    send(&mut connection, SETTINGS, 0, 0, &[]).await;
    let mut requests = 0;
    let mut head = [0; 9];
    while connection.read_exact(&mut head).await.is_ok() {
        let [a, b, c, kind, flags, stream @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]);
        let mut content = vec![0; length as usize];
        connection.read_exact(&mut content).await.unwrap();
        let stream = u32::from_be_bytes(stream);
        match (kind, flags & ACK) {
            (SETTINGS, 0) => send(&mut connection, SETTINGS, ACK, 0, &[]).await,
            (HEADERS, _) => {
                requests += 1;
                streams.fetch_add(1, Ordering::SeqCst);
                match on_second.filter(|_| requests > 1) {
                    None => send(&mut connection, HEADERS, END, stream, STATUS_200).await,
                    Some(OnSecond::Ignore) => ignored.send(()).await.unwrap(),
                    Some(OnSecond::GoAway) => {
                        // The last processed stream is 1, and the error code is NO_ERROR.
                        let content = [0, 0, 0, 1, 0, 0, 0, 0];
                        send(&mut connection, GOAWAY, 0, 0, &content).await;
                    }
                    Some(OnSecond::Reset(reason)) => {
                        let content = u32::from(reason).to_be_bytes();
                        send(&mut connection, RST_STREAM, 0, stream, &content).await;
                    }
                }
            }
            _ => {}
        }
    }
}

async fn send(
    connection: &mut (impl AsyncWrite + Unpin),
    kind: u8,
    flags: u8,
    stream: u32,
    content: &[u8],
) {
    let mut frame = (content.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(content);
    connection.write_all(&frame).await.unwrap();
    connection.flush().await.unwrap();
}

/// Starts an HTTP server that closes its first connection at the request with this number, and
/// responds to all others. Returns its URL and the number of each request on its connection.
pub(super) async fn closing(at: usize) -> (String, watch::Receiver<Vec<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (report, requests) = watch::channel(vec![]);
    tokio::spawn(async move {
        let mut is_first = true;
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut number = 0;
            let mut request = vec![0; 1024];
            let mut length = 0;
            while let Ok(read @ 1..) = connection.read(&mut request[length..]).await {
                length += read;
                if !request[..length].ends_with(b"task") {
                    continue;
                }
                length = 0;
                number += 1;
                report.send_modify(|all| all.push(number));
                if is_first && number == at {
                    break;
                }
                let response = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                connection.write_all(response).await.unwrap();
            }
            is_first = false;
        }
    });
    (url, requests)
}
