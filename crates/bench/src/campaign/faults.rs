//! `campaign faults`: everything around a running server goes wrong, one thing at a time.
//!
//! A server is killed, stopped, robbed of disk, memory, files, database and clock, and pestered by clients, while
//! pages are written, read and made private. During and after every fault: each acknowledged write is there, nothing
//! wrong is reported as right (answers, `/v1/ready`, `reindex --verify`, `doctor`), nothing panics, and no untrusted
//! caller is told of a private page. The report has the longest time until everything was right again.
//!
//! Deliberately absent: power failure, and damage to PostgreSQL's own files.

mod check;
mod fault;
mod host;
mod inject;
mod report;
mod subject;
mod writes;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Args;

pub use fault::Fault;
pub use report::{FaultReport, FaultRow, Finding, FindingKind, HealthTimes};

use subject::Subject;

use super::scaffold::{CampaignArgs, FlagValue as _, Part, Setup, progress};

/// Findings of one fault after which it is not tried again: they would be the same.
const FINDINGS_LIMIT: usize = 200;

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct FaultPlan {
    /// How often each fault happens, on each engine.
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// Only this fault; may be given again [default: all].
    // Faults that can't happen to an engine are passed over.
    #[arg(long = "fault", value_name = "FAULT", value_enum)]
    pub faults: Vec<Fault>,
    /// How much is done in each round.
    #[arg(skip = Sizes::LONG)]
    pub sizes: Sizes,
}

/// How much is done in each round.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Public pages in the beginning.
    pub pages: usize,
    /// Writes during a fault that lasts.
    pub writes: usize,
    /// Connections that the server takes at most.
    pub server_connections: usize,
    /// Connections that never send a whole request.
    pub half_open: usize,
    /// Clients that are slow, of each kind.
    pub slow: usize,
    /// Hostile bodies at once.
    pub bodies: usize,
    /// Bytes of each.
    pub body_bytes: usize,
}

impl Sizes {
    /// The faults of the campaign.
    pub const LONG: Self = Self {
        pages: 60,
        writes: 10,
        server_connections: 1024,
        half_open: 1100,
        slow: 60,
        bodies: 12,
        body_bytes: 15 << 20,
    };
    /// The faults of the tests.
    pub const SHORT: Self = Self {
        pages: 12,
        writes: 3,
        server_connections: 64,
        half_open: 80,
        slow: 8,
        bodies: 3,
        body_bytes: 1 << 20,
    };
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<FaultPlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let report = run_on_engine(setup, plan)?;
        let figures = format!("{} faults", report.rows.len());
        Ok(Part::new(figures, report.findings()).lines(report.lines()))
    })
}

/// Makes every fault of a plan happen.
pub fn run_on_engine(setup: &Setup, plan: &FaultPlan) -> Result<FaultReport> {
    let mut report = FaultReport::default();
    let chosen = if plan.faults.is_empty() { Fault::all() } else { &plan.faults };
    let faults = chosen.iter().filter(|fault| fault.applies_to(setup.engine));
    let total = faults.clone().count();
    for (at, &fault) in faults.enumerate() {
        let start = Instant::now();
        // Of the fault as well, so that a fault alone is the same as among others.
        let seed = setup.seed.wrapping_mul(1_000).wrapping_add(fault as u64);
        let row = try_fault(&Setup { seed, ..setup.clone() }, plan, fault)?;
        progress(format!(
            "  {} of {total} faults: {}, {} rounds, {} findings, {} s",
            at + 1,
            fault.name(),
            row.rounds,
            row.findings.len(),
            start.elapsed().as_secs()
        ));
        report.rows.push(row);
    }
    Ok(report)
}

fn try_fault(setup: &Setup, plan: &FaultPlan, fault: Fault) -> Result<FaultRow> {
    let mut subject = Subject::new(setup, plan, fault)?;
    while subject.row.rounds < plan.rounds && subject.row.findings.len() < FINDINGS_LIMIT {
        subject.inject(fault)?;
        subject.check()?;
        subject.row.rounds += 1;
    }
    subject.stop()?;
    subject.row.acknowledged = subject.writes.acknowledged;
    Ok(subject.row.clone())
}
