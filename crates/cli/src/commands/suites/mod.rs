//! `gbrain suites`: define, run and schedule suites of checks.

mod create;
mod file;
mod history;
mod list;
mod prune;
mod remove;
mod run;
mod switch;
mod validate;

pub(crate) use file::SuiteSource;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gbrain_core::format::schema::of_input;
use gbrain_core::format::suite::SuiteFile;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain suites create --name smoke --type smoke --owner @search --trigger manual --trigger ci\n  \
    gbrain queries import queries.jsonl\n  gbrain suites run smoke\n  gbrain suites enable smoke\n  \
    gbrain suites history smoke\n\n\
    Suites are defined in suites.yaml (or braintrust_suites.yaml) in the home, or in --file. `run` uses \
    the suite in the file; triggers and alerts use the suite as registered by the last `create` or \
    `enable`, and `list` shows where the two differ. When a trigger of a suite that is enabled fires, `gbrain \
    serve` and `gbrain worker` run it; `gbrain autopilot` only queues it for them.\n\n\
    Exit codes of run: 0 pass, 1 an alert threshold was breached, 2 inconclusive.")]
pub(crate) struct SuitesArgs {
    /// The file of suites [default: suites.yaml, else braintrust_suites.yaml, in the home].
    #[arg(long, short, value_name = "FILE", global = true)]
    file: Option<PathBuf>,
    #[command(subcommand)]
    command: SuitesCommand,
}

#[derive(Debug, Subcommand)]
enum SuitesCommand {
    /// List suites, whether they are on, and their last runs.
    List,
    /// Add a suite to the file, and register it, switched off.
    Create(create::CreateArgs),
    /// Report every error in the suites file, with line numbers.
    Validate,
    /// Run a suite now.
    Run(run::SuiteRunArgs),
    /// Enable the triggers of a suite.
    Enable(switch::SwitchArgs),
    /// Disable the triggers of a suite.
    Disable(switch::SwitchArgs),
    /// Unregister a suite; its runs stay.
    Remove(remove::RemoveArgs),
    /// List runs, newest first.
    History(history::SuiteHistoryArgs),
    /// Show one run with its cases.
    Show(history::SuiteRunShowArgs),
    /// Delete old runs, logs and events of suites.
    Prune(prune::PruneArgs),
    /// Print the JSON Schema of the file.
    Schema,
}

/// Does what was asked.
pub(crate) fn run(context: &CommandContext<'_>, args: &SuitesArgs) -> Result<Exit, CliError> {
    let source = SuiteSource::new(&context.home, args.file.as_deref());
    match &args.command {
        SuitesCommand::List => list::run(context, &source),
        SuitesCommand::Create(args) => create::run(context, args, &source),
        SuitesCommand::Validate => validate::run(context, &source),
        SuitesCommand::Run(args) => run::run(context, args, &source),
        SuitesCommand::Enable(args) => switch::enable(context, args, &source),
        SuitesCommand::Disable(args) => switch::disable(context, args),
        SuitesCommand::Remove(args) => remove::run(context, args, &source),
        SuitesCommand::History(args) => history::history(context, args),
        SuitesCommand::Show(args) => history::show(context, args),
        SuitesCommand::Prune(args) => prune::run(context, args),
        SuitesCommand::Schema => {
            context.terminal.json(&of_input::<SuiteFile>());
            Ok(Exit::Pass)
        }
    }
}
