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
use gbrain_prompts::Library;
use gbrain_prompts::domain::check_log;
use jiff::Timestamp;

use crate::error::{CliError, Exit};
use crate::terminal::Terminal;

/// Prompts that are promoted on evidence.
#[derive(Debug, Parser)]
#[command(name = "eva", version, max_term_width = 100)]
#[command(after_help = "Start with:\n  eva new greet\n  kick greet --case basic\n  \
    kick greet --case basic --send\n  eva show greet\n  eva promote greet\n\n\
    Exit codes: 0 the work was done whole, 1 something was measured and found wrong (a closed gate, a \
    failed case, a problem), 2 no verdict (usage, configuration, input or output).")]
pub(crate) struct EvaArgs {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Global {
    /// Print one JSON document on stdout instead of text.
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// No progress and no remarks on stderr; errors stay.
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    quiet: bool,
    /// The directory that holds `prompts` [env: EVA_ROOT] [default: here or above].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    root: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a prompt: a draft with a template, a case, an evaluation and a verifier.
    New(new::NewArgs),
    /// List the prompts.
    List(list::ListArgs),
    /// Show a prompt: what it is, what its runs say, and what is missing for its next step.
    Show(show::ShowArgs),
    /// Print the latest runs of a prompt.
    Log(log::LogArgs),
    /// Open a prompt's template in an editor.
    Edit(edit::EditArgs),
    /// Run a prompt against the cases of its eval.yml.
    Eval(eval::EvalArgs),
    /// Take a prompt one step up: draft, tested, ready.
    Promote(promote::PromoteArgs),
    /// Take a prompt down, to collect new evidence.
    Demote(demote::DemoteArgs),
    /// Look for what is wrong with prompts.
    Doctor(doctor::DoctorArgs),
    /// Compare prompts by their runs.
    Stats(stats::StatsArgs),
    /// Make the lists of prompts anew: the README's and the shell's.
    Index(index::IndexArgs),
    /// Write a ready prompt as a skill for agents.
    ExportSkill(export_skill::ExportSkillArgs),
    /// Move prompts/{ready,tested,draft}/*.md into directories of their own.
    Migrate(migrate::MigrateArgs),
}

/// What every command works with.
struct Context<'a> {
    terminal: &'a Terminal,
    root: Option<&'a Path>,
    now: Timestamp,
}

impl Context<'_> {
    fn library(&self) -> Result<Library, CliError> {
        library(self.root)
    }
}

/// The program `eva`.
pub fn eva() -> ExitCode {
    crate::guarded(run_eva)
}

fn run_eva() -> ExitCode {
    let args = match EvaArgs::try_parse() {
        Ok(args) => args,
        Err(error) => return crate::usage(&error),
    };
    let terminal = Terminal::new(args.global.json, args.global.quiet);
    let root = args.global.root.as_deref();
    let context = Context { terminal: &terminal, root, now: moment(std::time::SystemTime::now()) };
    match run(&context, &args.command) {
        Ok(exit) => terminal.exit(exit).into(),
        Err(error) => {
            terminal.error(&error);
            Exit::from(error.kind).into()
        }
    }
}

fn run(context: &Context<'_>, command: &Command) -> Result<Exit, CliError> {
    match command {
        Command::New(args) => new::run(context, args),
        Command::List(args) => list::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Log(args) => log::run(context, args),
        Command::Edit(args) => edit::run(context, args),
        Command::Eval(args) => eval::run(context, args),
        Command::Promote(args) => promote::run(context, args),
        Command::Demote(args) => demote::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Stats(args) => stats::run(context, args),
        Command::Index(args) => index::run(context, args),
        Command::ExportSkill(args) => export_skill::run(context, args),
        Command::Migrate(args) => migrate::run(context, args),
    }
}

/// The library at the root that a flag or the environment names, else the nearest.
pub(crate) fn library(root: Option<&Path>) -> Result<Library, CliError> {
    let (named, here) = places(root)?;
    Ok(Library::find(named.as_deref(), &here)?)
}

/// The root that was named, and where we are.
fn places(root: Option<&Path>) -> Result<(Option<PathBuf>, PathBuf), CliError> {
    let named = root.map(Path::to_owned).or_else(|| variable("EVA_ROOT").map(PathBuf::from));
    let here = std::env::current_dir().map_err(|error| CliError::io("this directory", &error))?;
    Ok((named, here))
}

/// A variable of the environment that says something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Says which lines of a prompt's logs were passed over.
fn warn_of_lines(terminal: &Terminal, id: &str, malformed: &[(&str, u64)]) {
    for finding in malformed.iter().filter_map(|(file, count)| check_log(file, *count)) {
        terminal.warn(format!("{id}: {}", finding.message));
    }
}

/// Who changes a status.
fn who() -> String {
    ["EVA_USER", "USER", "LOGNAME"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_else(|| "unknown".to_owned())
}
