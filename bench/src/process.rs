//! Starts the processes of the measurements and reads their output.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use simulator::deployed::settings;

use crate::{Arguments, Error};

/// Figures of one measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Time from the first request to the last response, in seconds.
    pub(crate) seconds: f64,
    pub(crate) calls: std::collections::BTreeMap<String, u32>,
    /// Peak resident set size (RSS) of the process, in KiB; 0 if the system does not report it.
    pub(crate) peak_memory_kib: u64,
}

pub(crate) fn print(figures: Figures) -> Result<(), Error> {
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

pub(crate) fn run<T: DeserializeOwned>(
    arguments: &Arguments,
    part: &str,
    address: &str,
) -> Result<T, Error> {
    let output = Command::new(std::env::current_exe()?)
        .args([
            "--tasks",
            &arguments.tasks.to_string(),
            "--slots",
            &arguments.slots.to_string(),
        ])
        .args([part, address])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("{part} ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Creates a command that starts a function's binary with these variables and its settings.
pub(crate) fn function(bootstrap: &Path, name: &str, environment: &str) -> Command {
    let variables = environment.lines().filter_map(|line| line.split_once('='));
    let settings_of = format!("SETTINGS_{}", name.replace('-', "_").to_uppercase());
    let mut command = Command::new(bootstrap);
    command
        .env_clear()
        .envs(variables)
        .env(settings_of, settings(name).to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// A server in a separate process, which ends when this value is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Error> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child
            .stdout
            .take()
            .ok_or("the server has no standard output")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address)?;
        Ok(Self {
            child,
            address: address.trim().to_owned(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closing standard input ends the server. The kill ends a server that hangs.
        drop(self.child.stdin.take());
        let _ended = self.child.kill().and_then(|()| self.child.wait().map(drop));
    }
}

/// Returns the peak RSS of this process, in KiB.
pub(crate) fn peak_memory_kib() -> u64 {
    peak_memory_kib_of("self")
}

/// Returns the peak RSS of a process, in KiB, or 0 if the system does not report it.
pub(crate) fn peak_memory_kib_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}
