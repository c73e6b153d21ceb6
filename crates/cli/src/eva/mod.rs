//! `eva`: show, evaluate and promote prompts. One file per command.

mod demote;
mod doctor;
mod edit;
mod eval;
mod export_skill;
mod index;
mod list;
mod log;
mod migrate;
mod new;
mod promote;
mod show;
mod stats;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use gbrain_core::clock::moment;
use gbrain_core::fault::{Fault, chain};
use gbrain_prompts::domain::check_log;
use gbrain_prompts::{Library, PromptAssessment, PromptEntry};
use jiff::Timestamp;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::terminal::Terminal;

/// Manage prompts that are promoted on evidence: draft, tested, ready.
#[derive(Debug, Parser)]
#[command(name = "eva", version, max_term_width = 100)]
#[command(after_help = "Start with:\n  eva new greet\n  kick greet --case basic\n  \
    kick greet --case basic --send\n  eva show greet\n  eva promote greet\n\n\
    Exit codes: 0 success, 1 a check failed (a promotion was refused, a case failed, a problem was found), \
    2 no verdict (usage, configuration, input or output).")]
pub(crate) struct EvaArgs {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: EvaCommand,
}

#[derive(Debug, Args)]
struct Global {
    /// Print one JSON document on stdout instead of text.
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// Print no progress and no remarks on stderr, only warnings and errors.
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    quiet: bool,
    /// The directory that holds `prompts` [env: EVA_ROOT] [default: the current directory or a parent].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    root: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum EvaCommand {
    /// Create a prompt: a draft with a template, a case, an evaluation and a verifier.
    New(new::NewArgs),
    /// List the prompts with status, version and summary.
    List(list::PromptListArgs),
    /// Show a prompt: its inputs, its runs, and what is missing for its next promotion.
    Show(show::PromptShowArgs),
    /// Print the latest runs of a prompt.
    Log(log::UsageLogArgs),
    /// Open a file of a prompt in an editor.
    Edit(edit::EditArgs),
    /// Run a prompt against the cases of its eval.yml.
    Eval(eval::EvalArgs),
    /// Promote a prompt one step, from draft to tested to ready, if there is evidence.
    Promote(promote::PromoteArgs),
    /// Demote a prompt, to collect new evidence.
    Demote(demote::DemoteArgs),
    /// Check prompts for problems.
    Doctor(doctor::DoctorArgs),
    /// Compare prompts by their runs.
    Stats(stats::StatsArgs),
    /// Rewrite the lists of prompts in README.md and bin/kick-aliases.sh.
    Index(index::IndexArgs),
    /// Export a ready prompt as a skill for agents.
    ExportSkill(export_skill::ExportSkillArgs),
    /// Move prompts of the old layout (prompts/{ready,tested,draft}/*.md) into directories.
    Migrate(migrate::MigrateArgs),
}

/// The effects that every command gets as arguments.
struct EvaContext<'a> {
    terminal: &'a Terminal,
    root: Option<&'a Path>,
    now: Timestamp,
}

impl EvaContext<'_> {
    fn library(&self) -> Result<Library, CliError> {
        library(self.root)
    }
}

/// Runs the program `eva` and returns its exit code.
pub fn eva_main() -> ExitCode {
    crate::catch_panics(run_eva)
}

fn run_eva() -> ExitCode {
    let args = match EvaArgs::try_parse() {
        Ok(args) => args,
        Err(error) => return crate::usage(&error),
    };
    let terminal = Terminal::new(args.global.json, args.global.quiet);
    let root = args.global.root.as_deref();
    let context =
        EvaContext { terminal: &terminal, root, now: moment(std::time::SystemTime::now()) };
    match run(&context, &args.command) {
        Ok(exit) => terminal.exit(exit).into(),
        Err(error) => {
            terminal.error(&error);
            Exit::from(error.kind).into()
        }
    }
}

fn run(context: &EvaContext<'_>, command: &EvaCommand) -> Result<Exit, CliError> {
    match command {
        EvaCommand::New(args) => new::run(context, args),
        EvaCommand::List(args) => list::run(context, args),
        EvaCommand::Show(args) => show::run(context, args),
        EvaCommand::Log(args) => log::run(context, args),
        EvaCommand::Edit(args) => edit::run(context, args),
        EvaCommand::Eval(args) => eval::run(context, args),
        EvaCommand::Promote(args) => promote::run(context, args),
        EvaCommand::Demote(args) => demote::run(context, args),
        EvaCommand::Doctor(args) => doctor::run(context, args),
        EvaCommand::Stats(args) => stats::run(context, args),
        EvaCommand::Index(args) => index::run(context, args),
        EvaCommand::ExportSkill(args) => export_skill::run(context, args),
        EvaCommand::Migrate(args) => migrate::run(context, args),
    }
}

/// Finds the library: the root of the flag or of EVA_ROOT, else the nearest one above the current directory.
pub(crate) fn library(root: Option<&Path>) -> Result<Library, CliError> {
    let (named, here) = search_paths(root)?;
    Ok(Library::find(named.as_deref(), &here)?)
}

/// Every prompt as `show --json` prints it; an unreadable one as `list --json` does.
pub(crate) fn shown_prompts(library: &Library) -> Result<Vec<serde_json::Value>, Fault> {
    let unreadable = |listed: &PromptEntry| json!(list::row(listed));
    let shown = |listed: &PromptEntry| match &listed.prompt {
        Err(_) => unreadable(listed),
        Ok(prompt) => match PromptAssessment::read(library, prompt) {
            Ok(standing) => json!(show::body(prompt, &standing)),
            Err(_) => unreadable(listed),
        },
    };
    let prompts = library.list().map_err(|error| Fault::internal(chain(&error)))?;
    Ok(prompts.iter().map(shown).collect())
}

/// The named root, if any, and the current directory.
fn search_paths(root: Option<&Path>) -> Result<(Option<PathBuf>, PathBuf), CliError> {
    let named = root.map(Path::to_owned).or_else(|| variable("EVA_ROOT").map(PathBuf::from));
    let here =
        std::env::current_dir().map_err(|error| CliError::io("the current directory", &error))?;
    Ok((named, here))
}

/// An environment variable that is set and not blank.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Warns of malformed lines in a prompt's logs.
fn warn_malformed(terminal: &Terminal, id: &str, malformed: &[(&str, u64)]) {
    for finding in malformed.iter().filter_map(|(file, count)| check_log(file, *count)) {
        terminal.warn(format!("{id}: {}", finding.message));
    }
}

/// The user name that is recorded with a change of status.
fn user_name() -> String {
    ["EVA_USER", "USER", "LOGNAME"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_else(|| "unknown".to_owned())
}
