//! Measures the time from exec to the first `next` request, which is the function's own share of a
//! cold start.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Error;
use crate::process::function;

/// The function's environment. The function sends no request to any address in it.
const ENVIRONMENT: &str = include_str!("../cold-start.env");

/// Starts the binary once against a Runtime API that only listens, and times its first request.
pub(crate) fn measure(bootstrap: &Path) -> Result<Duration, Error> {
    let api = TcpListener::bind("127.0.0.1:0")?;
    let mut function = function(bootstrap, "process-tasks", ENVIRONMENT);
    function.env("AWS_LAMBDA_RUNTIME_API", api.local_addr()?.to_string());
    let started = Instant::now();
    let mut child = function.spawn()?;
    let mut request = String::new();
    let accepted = accept_within(&api, Duration::from_secs(10))
        .and_then(|stream| Ok(BufReader::new(stream).read_line(&mut request)?));
    let took = started.elapsed();
    child.kill()?;
    child.wait()?;
    accepted?;
    if !request.contains("/runtime/invocation/next") {
        return Err(format!("the function began with {request:?}, not with next").into());
    }
    Ok(took)
}

fn accept_within(api: &TcpListener, limit: Duration) -> Result<std::net::TcpStream, Error> {
    api.set_nonblocking(true)?;
    let until = Instant::now() + limit;
    loop {
        match api.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                return Err(error.into());
            }
            Err(_) if Instant::now() > until => {
                return Err("the function never asked for work".into());
            }
            Err(_) => std::thread::sleep(Duration::from_micros(100)),
        }
    }
}
