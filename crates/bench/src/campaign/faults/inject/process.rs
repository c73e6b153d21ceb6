//! Signals to the server.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use gbrain_testkit::process::signal;

use super::super::subject::Subject;

impl Subject {
    /// Kills the server at a random moment of its writes, and starts it again.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.row.method = "SIGKILL".to_owned();
        self.hide_a_page()?;
        let pid = self.server()?.pid();
        let after = Duration::from_micros(self.rng.u64(..60_000));
        self.write_during(1, move || {
            std::thread::sleep(after);
            signal(pid, "KILL")
        })?;
        self.read_log()?;
        let mut server = self.server.take().context("a server was killed")?;
        server.kill_and_wait()?;
        self.brain.settle()?;
        let since = Instant::now();
        self.start()?;
        self.look_for_hidden();
        self.recover(since)
    }

    /// Stops the server at a random moment of its writes, and lets it go on.
    pub(super) fn pause(&mut self) -> Result<()> {
        self.row.method = "SIGSTOP, SIGCONT".to_owned();
        let pid = self.server()?.pid();
        let after = Duration::from_micros(self.rng.u64(..30_000));
        let pause = Duration::from_millis(self.rng.u64(20..400));
        let resumed = std::sync::Mutex::new(Instant::now());
        self.write_during(1, || {
            std::thread::sleep(after);
            signal(pid, "STOP")?;
            std::thread::sleep(pause);
            signal(pid, "CONT")?;
            *resumed.lock().expect("no thread panics while holding it") = Instant::now();
            Ok(())
        })?;
        let since = *resumed.lock().expect("no thread panics while holding it");
        self.hide_a_page()?;
        self.look_for_hidden();
        self.recover(since)
    }
}
