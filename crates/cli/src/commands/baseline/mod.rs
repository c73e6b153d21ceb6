//! `gbrain baseline` (alias `bench`): publish, verify and compare baselines. One file per subcommand.

mod diff;
mod log;
mod publish;
mod ratchet;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gbrain_core::baseline::{Baseline, BaselineKey, SignatureCheck};
use gbrain_eval::{Input, read_baseline};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "`gbrain bench` is a permanent alias of `gbrain baseline`.")]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
enum BaselineCommand {
    /// Freeze captures into a baseline.
    Publish(publish::PublishArgs),
    /// Check that a baseline is what was published.
    Verify(verify::VerifyArgs),
    /// Show the chain of baselines with their reasons.
    Log(log::BaselineLogArgs),
    /// Compare two baselines: rows added, removed, changed.
    Diff(diff::DiffArgs),
    /// Update a baseline with today's better rankings, with a reason.
    Ratchet(ratchet::RatchetArgs),
}

pub(crate) fn run(context: &CommandContext<'_>, args: &BaselineArgs) -> Result<Exit, CliError> {
    match &args.command {
        BaselineCommand::Publish(args) => publish::run(context, args),
        BaselineCommand::Verify(args) => verify::run(context, args),
        BaselineCommand::Log(args) => log::run(context, args),
        BaselineCommand::Diff(args) => diff::run(context, args),
        BaselineCommand::Ratchet(args) => ratchet::run(context, args),
    }
}

/// Reads a baseline that must be signed if there is a key, and says what could not be checked.
fn read_checked(
    context: &CommandContext<'_>,
    path: &Path,
    key: Option<&BaselineKey>,
) -> Result<Baseline, CliError> {
    let input = Input::open(path)?.checking(SignatureCheck::required(key));
    let baseline = read_baseline(input)?;
    if let Some(warning) = baseline.integrity.warning() {
        context.terminal.warn(format!("{}: {warning}", path.display()));
    }
    Ok(baseline)
}

/// Whether a path lies in the owner's own directory of baselines, symbolic links resolved.
fn is_own(context: &CommandContext<'_>, path: &Path) -> bool {
    let own = resolve(&context.home.baselines_dir());
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    resolve(dir).starts_with(own)
}

/// A path with every link in the part of it that exists resolved.
fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut missing = Vec::new();
    let mut at = path.as_path();
    loop {
        if let Ok(real) = at.canonicalize() {
            return missing.iter().rev().fold(real, |real, name| real.join(name));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                at = parent;
            }
            _ => return path,
        }
    }
}
