//! `gbrain serve` as a process of its own, on a free port of this machine.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::http::Caller;
use crate::process::{Output, Running};
use crate::vitals::{ProcessStats, cpu_seconds};

#[derive(Debug)]
pub struct Served {
    running: Running,
    address: SocketAddr,
}

impl Served {
    /// Starts `gbrain serve`, ready made but for its address, and waits until it listens.
    pub fn start(mut command: Command) -> Result<Self> {
        command.args(["--listen", "127.0.0.1:0"]);
        let mut running = Running::start(command, "")?;
        let line = running.first_line()?;
        let address = line.rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let address = address.with_context(|| format!("no address in {line:?}"))?;
        Ok(Self { running, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    pub fn connect(&self) -> Result<Caller> {
        Caller::connect(self.address).context("the server does not take connections")
    }

    /// Everything it has logged so far.
    pub fn log(&self) -> Result<String> {
        self.running.log()
    }

    pub fn vitals(&self) -> Result<ProcessStats> {
        ProcessStats::of(self.running.pid())
    }

    /// Processor time that it has used.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.running.pid())
    }

    /// Whether it has ended, as it should not by itself.
    pub fn has_ended(&mut self) -> Result<bool> {
        self.running.has_ended()
    }

    /// Tells it to end, and waits for that.
    pub fn stop(self) -> Result<Output> {
        self.running.terminate()?;
        self.running.wait()
    }

    /// Ends it without a warning, waits until it is gone, and tells what it said until then.
    pub fn kill_and_wait(&mut self) -> Result<String> {
        self.running.kill_and_wait()
    }
}
