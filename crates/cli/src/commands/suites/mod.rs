//! `gbrain suites`: what is measured when, against whom, and what came of it.

mod create;
mod file;
mod list;
mod past;
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

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `suites`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain suites create --name smoke --type smoke --owner @search --trigger manual --trigger ci\n  \
    gbrain queries import queries.jsonl\n  gbrain suites run smoke\n  gbrain suites enable smoke\n  \
    gbrain suites history smoke\n\n\
    Suites are described in suites.yaml (or braintrust_suites.yaml) in the home, or in --file. `run` takes \
    a suite as the file has it; triggers and alerts take it as it was registered by the last `create` or \
    `enable`, and `list` says where the two differ. When a trigger of a suite that is enabled fires, `gbrain \
    serve` and `gbrain worker` run it; `gbrain autopilot` only queues it for them.\n\n\
    Exit codes of run: 0 pass, 1 an alert was passed, 2 no verdict.")]
pub(crate) struct SuitesArgs {
    /// The file of suites [default: suites.yaml, else braintrust_suites.yaml, in the home].
    #[arg(long, short, value_name = "FILE", global = true)]
    file: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List suites, whether they are on, and their last runs.
    List,
    /// Add a suite to the file, and register it, switched off.
    Create(create::CreateArgs),
    /// Say everything that is wrong with the file, by line.
    Validate,
    /// Run a suite now.
    Run(run::RunArgs),
    /// Let the triggers of a suite fire, from now on.
    Enable(switch::SwitchArgs),
    /// Keep the triggers of a suite from firing.
    Disable(switch::SwitchArgs),
    /// Take out what is registered of a suite; its runs stay.
    Remove(remove::RemoveArgs),
    /// List runs, newest first.
    History(past::HistoryArgs),
    /// Show a run.
    Show(past::ShowArgs),
    /// Erase what suites left behind long ago.
    Prune(prune::PruneArgs),
    /// Print the JSON Schema of the file.
    Schema,
}

/// Does what was asked.
pub(crate) fn run(context: &Context<'_>, args: &SuitesArgs) -> Result<Exit, CliError> {
    let source = SuiteSource::new(&context.home, args.file.as_deref());
    match &args.action {
        Action::List => list::run(context, &source),
        Action::Create(args) => create::run(context, args, &source),
        Action::Validate => validate::run(context, &source),
        Action::Run(args) => run::run(context, args, &source),
        Action::Enable(args) => switch::enable(context, args, &source),
        Action::Disable(args) => switch::disable(context, args),
        Action::Remove(args) => remove::run(context, args, &source),
        Action::History(args) => past::history(context, args),
        Action::Show(args) => past::show(context, args),
        Action::Prune(args) => prune::run(context, args),
        Action::Schema => {
            context.terminal.json(&of_input::<SuiteFile>());
            Ok(Exit::Pass)
        }
    }
}
