//! `campaign statistics`: whether intervals cover, and whether drops are found as often as reports say.
//!
//! Coverage: samples of n values are drawn from a population whose mean is known, made up or measured
//! ([`population`]); a 95 % interval must hold the mean in 93 of 100 samples at least ([`coverage`]).
//! More is allowed and printed. Wilson's interval and the percentile bootstrap run along without a floor, to
//! show what they would do.
//!
//! Power: reports print the smallest drop that is found with a power of .8, if queries lose their
//! whole value. Queries lose theirs with that probability, the rule that decides is applied, and the share of
//! trials in which it fires must be within .03 of .8 wherever a drop is printed ([`power`]).

pub mod coverage;
pub mod population;
pub mod power;

use std::path::PathBuf;
use std::process::ExitCode;

use super::scaffold::{Campaign, Part, SeedArgs, say};
use anyhow::Result;
use clap::Parser;

/// The least coverage of a nominal 95 % interval.
pub const COVERAGE: f64 = 0.93;
/// How far a printed power may be off.
pub const OFF: f64 = 0.03;
pub const SIZES: [usize; 10] = [4, 5, 8, 10, 15, 20, 30, 50, 100, 200];

#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign statistics")]
pub struct StatisticsArgs {
    /// Samples per population and size.
    #[arg(long, default_value_t = 2000)]
    samples: usize,
    /// Trials per printed drop.
    #[arg(long, default_value_t = 4000)]
    trials: usize,
    /// Drops that are checked per population, rule and size.
    #[arg(long, default_value_t = 2)]
    drops: usize,
    #[command(flatten)]
    seed: SeedArgs,
}

pub fn run(args: &StatisticsArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let seed = campaign.seed;
    let data = std::env::var_os("GBRAIN_TEST_DATA").map(PathBuf::from);
    let populations = population::all(data.as_deref())?;
    for one in &populations {
        say(format!(
            "population {}: {} values, mean {:.3}",
            one.name,
            one.values.len(),
            one.mean()
        ));
    }
    campaign.part("coverage", || {
        let cells = coverage::survey(&populations, &SIZES, args.samples, seed);
        let low = cells.iter().filter(|cell| cell.is_held()).map(ToString::to_string);
        Ok(Part::new(format!("{} cells", cells.len()), low.collect())
            .lines([coverage::table(&cells)]))
    })?;
    campaign.part("power", || {
        let cells = power::survey(&populations, &SIZES, args.drops, args.trials, seed);
        let wrong = cells.iter().filter(|cell| cell.is_wrong()).map(ToString::to_string);
        Ok(Part::new(format!("{} cells", cells.len()), wrong.collect())
            .lines([power::table(&cells)]))
    })?;
    Ok(campaign.end())
}
