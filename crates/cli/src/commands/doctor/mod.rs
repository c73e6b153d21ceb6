//! `gbrain doctor`: checks everything and names a remedy for each finding.
//!
//! Reads the tables directly from its own process, so it sees what other processes went through.

mod alerts;
mod baselines;
mod brain;
mod calibration;
mod captures;
mod contradictions;
mod finding;
mod home;
mod probe;
mod remote;
mod serving;
mod suites;

use clap::Args;
use gbrain_core::doctor::DoctorBody;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use finding::unknown;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain doctor\n  gbrain doctor --fix\n  \
    gbrain doctor --json | jq '.checks[] | select(.status != \"ok\")'\n\n\
    Models and targets that the settings name are contacted once each, for free; --offline contacts none.\n\n\
    Exit codes: 0 all is well or there are warnings, 1 something is broken, 2 something could not be \
    checked.")]
pub(crate) struct DoctorArgs {
    /// Fix what can be fixed safely: file permissions, a stale index, capture failures queued in files.
    #[arg(long)]
    fix: bool,
    /// Compare the whole index with the store, page by page.
    #[arg(long)]
    deep: bool,
    /// Contact no model and no target; check only this machine and the database.
    #[arg(long)]
    offline: bool,
    /// Set the date of captures from the future to now; use it only if this machine's clock is right.
    #[arg(long)]
    redate_captures: bool,
}

/// The changes that a check may make.
#[derive(Debug, Clone, Copy)]
struct Fixes {
    /// Fixes that lose nothing.
    safe: bool,
    /// The dates of captures from the future.
    redate_captures: bool,
}

pub(crate) fn run(context: &CommandContext<'_>, args: &DoctorArgs) -> Result<Exit, CliError> {
    let fixes = Fixes { safe: args.fix, redate_captures: args.redate_captures };
    let mut findings = home::check(context, args.fix);
    match context.brain() {
        Ok(brain) => {
            let embedder = remote::embedder(context, args.offline);
            findings.extend(brain::check(context, &brain, args, embedder.as_ref()));
            findings.push(remote::check_models(context, brain.store(), args.offline));
            findings.extend(captures::check(context, &brain, fixes));
            findings.extend(serving::check(context, brain.store()));
            findings.push(contradictions::check(context, brain.store()));
            findings.push(probe::check(context, brain.store()));
            findings.push(calibration::check(context, brain.store()));
            findings.push(suites::check(context, brain.store()));
            findings.push(alerts::check(context, brain.store()));
        }
        Err(error) => findings.push(unknown("store", error)),
    }
    findings.push(remote::check_targets(context, args.offline));
    findings.extend(baselines::check(context));
    if context.terminal.is_json() {
        context.terminal.json(&DoctorBody::new(&findings));
    } else {
        context.terminal.out(finding::as_text(&findings));
    }
    Ok(finding::exit(&findings))
}
