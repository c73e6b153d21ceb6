//! `campaign noninterference`: two brains, of which one has private pages too, are asked the same.
//!
//! The brains are copies of each other, with the same tokens; then one is given private pages that share words,
//! names, links and tags with the public ones, and captures of its owner's questions. Every request goes to both,
//! through every interface. Answers must be the same, byte for byte, but for the fields that `compare` names.
//!
//! Deliberately absent: writes to the name of a private page. That such a name is refused is documented
//! (docs/serving.md).

mod compare;
mod pair;
mod requests;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

pub use requests::Interface;

use pair::Pair;
use requests::Requests;

use super::scaffold::{CampaignArgs, Part, Progress, Setup, table};

/// Differences after which a run ends: more would say the same.
const DIFFERENCES_LIMIT: usize = 50;
/// How much of a refusal is reported.
const REFUSAL_LENGTH: usize = 200;

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct NoninterferencePlan {
    /// Requests to both brains, on each engine.
    #[arg(long, default_value_t = 10_000)]
    pub requests: usize,
    /// Pages that both brains have.
    #[arg(long, default_value_t = 200)]
    pub pages: usize,
}

/// What was asked and what differed.
#[derive(Debug, Default)]
pub struct NoninterferenceReport {
    pub requests: BTreeMap<&'static str, usize>,
    /// Requests by operation, those of MCP and commands included.
    pub operations: BTreeMap<String, OperationCounts>,
    /// Operations of the OpenAPI document that were never asked for.
    pub never: Vec<String>,
    pub differences: Vec<String>,
}

/// The outcomes of the requests to one operation.
#[derive(Debug, Default)]
pub struct OperationCounts {
    pub requests: usize,
    pub succeeded: usize,
    /// The answer to the last that did not.
    pub last_refusal: String,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<NoninterferencePlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let report = compare(setup, plan)?;
        let (figures, lines) = (report.figures(), report.lines());
        let never = report.never.into_iter().map(|name| format!("never asked for: {name}"));
        let violations = report.differences.into_iter().chain(never).collect();
        Ok(Part::new(figures, violations).lines(lines))
    })
}

pub fn compare(setup: &Setup, plan: &NoninterferencePlan) -> Result<NoninterferenceReport> {
    let mut pair = Pair::make(setup, plan)?;
    let mut report = NoninterferenceReport::default();
    let mut requests = Requests::new(setup.rng(), pair.operations()?, plan.pages);
    let progress = Progress::new("requests", plan.requests);
    for _ in 0..plan.requests {
        progress.step();
        let request = requests.next();
        let (plain, more) = pair.ask(&request)?;
        *report.requests.entry(request.interface.name()).or_default() += 1;
        let counts = report.operations.entry(request.operation.clone()).or_default();
        counts.requests += 1;
        match plain.is_success() {
            true => counts.succeeded += 1,
            false => counts.last_refusal = plain.body.chars().take(REFUSAL_LENGTH).collect(),
        }
        if let Some(difference) = compare::difference(&request.operation, &plain, &more) {
            report.differences.push(format!("{request}: {difference}"));
        }
        if report.differences.len() >= DIFFERENCES_LIMIT {
            break;
        }
    }
    let asked = |name: &&String| !report.operations.contains_key(*name);
    report.never = requests.operations().iter().filter(asked).cloned().collect();
    pair.end()?;
    Ok(report)
}

impl NoninterferenceReport {
    pub fn through(&self, interface: Interface) -> usize {
        self.requests.get(interface.name()).copied().unwrap_or(0)
    }

    fn figures(&self) -> String {
        let succeeded: usize = self.operations.values().map(|counts| counts.succeeded).sum();
        let total: usize = self.operations.values().map(|counts| counts.requests).sum();
        format!("{total} requests of {} kinds, {succeeded} succeeded", self.operations.len())
    }

    fn lines(&self) -> Vec<String> {
        let mut table = table(["interface", "requests"]);
        for (interface, count) in &self.requests {
            table.add_row([(*interface).to_owned(), count.to_string()]);
        }
        let failed = self.operations.iter().filter(|(_, counts)| counts.succeeded == 0);
        let failed = failed.map(|(name, OperationCounts { requests, last_refusal, .. })| {
            format!("  never succeeded: {name} ({requests} requests): {last_refusal}")
        });
        [table.to_string()].into_iter().chain(failed).collect()
    }
}
