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

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;

pub use fault::Fault;
pub use report::{FaultReport, FaultRow, Finding, FindingKind, HealthTimes};

use subject::Subject;

use super::scaffold::{CampaignArgs, Part, progress};
use gbrain_testkit::engine::Engine;

/// Findings of one fault after which it is not tried again: they would be the same.
const FINDINGS_LIMIT: usize = 200;

/// Arguments of `campaign faults`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign faults")]
pub struct FaultsArgs {
    /// How often each fault happens, on each engine.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Only this fault; may be given again [default: all].
    #[arg(long, value_enum)]
    fault: Vec<Fault>,
    #[command(flatten)]
    campaign: CampaignArgs,
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
    /// Those of the campaign.
    pub const LONG: Self = Self {
        pages: 60,
        writes: 10,
        server_connections: 1024,
        half_open: 1100,
        slow: 60,
        bodies: 12,
        body_bytes: 15 << 20,
    };
    /// Those of the tests.
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

/// What to do on one engine.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    /// The program.
    pub program: PathBuf,
    /// The engine.
    pub engine: Engine,
    /// The faults; those that can't happen to the engine are passed over.
    pub faults: Vec<Fault>,
    /// How often each happens.
    pub rounds: usize,
    /// The seed.
    pub seed: u64,
    /// How much is done in each round.
    pub sizes: Sizes,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &FaultsArgs) -> Result<ExitCode> {
    let faults = if args.fault.is_empty() { Fault::all().to_vec() } else { args.fault.clone() };
    args.campaign.each(|program, engine, seed| {
        let (faults, rounds, sizes) = (faults.clone(), args.rounds, Sizes::LONG);
        let report = hunt(&FaultPlan { program, engine, faults, rounds, seed, sizes })?;
        let figures = format!("{} faults", report.rows.len());
        Ok(Part::new(figures, report.findings()).lines(report.lines()))
    })
}

/// Makes every fault of a plan happen.
pub fn hunt(plan: &FaultPlan) -> Result<FaultReport> {
    let mut report = FaultReport::default();
    let faults = plan.faults.iter().filter(|fault| fault.applies_to(plan.engine));
    let total = faults.clone().count();
    for (at, &fault) in faults.enumerate() {
        let start = Instant::now();
        // Of the fault as well, so that a fault alone is the same as among others.
        let seed = plan.seed.wrapping_mul(1_000).wrapping_add(fault as u64);
        let row = try_fault(plan, fault, seed)?;
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

fn try_fault(plan: &FaultPlan, fault: Fault, seed: u64) -> Result<FaultRow> {
    let mut subject = Subject::new(plan, fault, seed)?;
    while subject.row.rounds < plan.rounds && subject.row.findings.len() < FINDINGS_LIMIT {
        subject.inject(fault)?;
        subject.check()?;
        subject.row.rounds += 1;
    }
    subject.stop()?;
    subject.row.acknowledged = subject.writes.acknowledged;
    Ok(subject.row.clone())
}
