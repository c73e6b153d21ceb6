//! A server whose clock is wrong.

use std::time::Instant;

use anyhow::Result;

use super::super::fault::Fault;
use super::super::host::Launch;
use super::super::subject::{Subject, TIMEOUT};

/// The first is past the last moment that a timestamp can hold (9999-12-30 22:00 UTC), which the short form tries.
const AHEAD: [&str; 6] =
    ["@9999-12-31 12:00:00", "+1h", "+3d", "+400d", "+30y", "@9999-12-30 12:00:00"];
const BEHIND: [&str; 4] = ["-1h", "-3d", "-400d", "-30y"];

impl Subject {
    /// Restarts the server with a wrong clock, works, and restarts it with the right one. A wrong clock is no
    /// reason not to answer, so both are recoveries.
    pub(super) fn shift_clock(&mut self, fault: Fault) -> Result<()> {
        self.row.method = "libfaketime".to_owned();
        let shifts: &[&str] = if fault == Fault::ClockAhead { &AHEAD } else { &BEHIND };
        let shift = shifts[self.row.rounds % shifts.len()];
        let findings = self.row.findings.len();
        self.stop()?;
        self.launch = Launch::default().with_clock(shift)?;
        let mut since = Instant::now();
        self.start()?;
        self.recover(since)?;
        for _ in 0..self.sizes.writes {
            self.write(TIMEOUT);
            self.read();
        }
        self.hide_a_page()?;
        self.look_for_hidden();
        self.stop()?;
        self.launch = Launch::default();
        since = Instant::now();
        self.start()?;
        self.recover(since)?;
        for finding in &mut self.row.findings[findings..] {
            finding.text = format!("{shift}: {}", finding.text);
        }
        Ok(())
    }
}
