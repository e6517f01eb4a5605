//! Measures the time from exec to the first `next` request: the function's own part of a cold
//! start.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use simulator::deployed::settings;

use crate::Error;

/// The environment of the function. The function sends no request to any address in it.
const ENVIRONMENT: &str = include_str!("../cold-start.env");

/// Starts the binary once against a Runtime API that only listens, and times its first request.
pub(crate) fn measure(bootstrap: &Path) -> Result<Duration, Error> {
    let api = TcpListener::bind("127.0.0.1:0")?;
    let variables = ENVIRONMENT.lines().filter_map(|line| line.split_once('='));
    let started = Instant::now();
    let mut child = Command::new(bootstrap)
        .env_clear()
        .envs(variables)
        .env(
            "SETTINGS_PROCESS_TASKS",
            settings("process-tasks").to_string(),
        )
        .env("AWS_LAMBDA_RUNTIME_API", api.local_addr()?.to_string())
        .stdout(Stdio::null())
        .stdin(Stdio::null())
        .spawn()?;
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
