//! Long hunts for failures: seeded, bounded, repeatable.
//!
//! Every campaign prints its seed and its counts, and ends with 1 if it found anything ([`scaffold`]). Each has a
//! short form in the tests, which calls the same functions with smaller numbers.
//!
//! Deliberately absent: retries. What fails once has failed.

pub mod aftermath;
pub mod alerts;
pub mod api;
pub mod budget;
pub mod contradictions;
pub mod faults;
pub mod fuzz;
pub mod identity;
pub mod kick;
pub mod kill;
pub mod latency;
pub mod ledger;
pub mod lies;
pub mod load;
pub mod noninterference;
pub mod purge;
pub mod replay;
pub mod resume;
pub mod scaffold;
pub mod schedule;
pub mod serve;
pub mod statistics;
pub mod tree;
pub mod triage;
pub mod violations;
pub mod workers;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

const NAMES: &str = "kill, faults, noninterference, load, fuzz, replay, serve, workers, api, kick, resume, budget, \
     contradictions, schedule, alerts, triage, latency, lies, statistics, purge";

pub fn run(name: &str, args: &[String]) -> Result<ExitCode> {
    match name {
        "kill" => kill::run(&parse(name, args)?),
        "faults" => faults::run(&parse(name, args)?),
        "noninterference" => noninterference::run(&parse(name, args)?),
        "load" => load::run(&parse(name, args)?),
        "fuzz" => fuzz::run(&parse(name, args)?),
        "replay" => replay::run(&parse(name, args)?),
        "serve" => serve::run(&parse(name, args)?),
        "workers" => workers::run(&parse(name, args)?),
        "kick" => kick::run(&parse(name, args)?),
        "resume" => resume::run(&parse(name, args)?),
        "budget" => budget::run(&parse(name, args)?),
        "contradictions" => contradictions::run(&parse(name, args)?),
        "schedule" => schedule::run(&parse(name, args)?),
        "alerts" => alerts::run(&parse(name, args)?),
        "triage" => triage::run(&parse(name, args)?),
        "latency" => latency::run(&parse(name, args)?),
        "lies" => lies::run(&parse(name, args)?),
        "purge" => purge::run(&parse(name, args)?),
        "statistics" => statistics::run(&parse(name, args)?),
        "api" => api::run(&parse(name, args)?),
        _ => anyhow::bail!("there is no campaign `{name}`: {NAMES}"),
    }
}

/// Reads the arguments of one campaign or benchmark.
pub fn parse<A: Parser>(name: &str, args: &[String]) -> Result<A> {
    let words = std::iter::once(name.to_owned()).chain(args.iter().cloned());
    Ok(A::try_parse_from(words)?)
}

/// How much sooner a process that is behind is killed.
const HASTE: u32 = 8;

/// Whether a smaller share of the kills was made than of the work: a quick machine would be done before all.
fn is_behind(kills: (usize, usize), work: (usize, usize)) -> bool {
    kills.0 * work.1 < work.0 * kills.1
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn every_campaign_has_arguments_that_parse() {
        for name in NAMES.split(", ") {
            let error = run(name, &["--help".to_owned()]).unwrap_err();
            let kind = error.downcast_ref::<clap::Error>().map(clap::Error::kind);
            assert_eq!(kind, Some(ErrorKind::DisplayHelp), "{name}: {error}");
        }
        let error = run("kill", &["--minutes".to_owned(), "soon".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("--minutes"), "{error}");
    }
}
