//! The programs `gbrain`, `eva` and `kick`.
//!
//! This file is the table of contents of `gbrain`: `args` parses the command line, `home` resolves the
//! settings, each command is one file in `commands`, and only `terminal` prints. Data goes to stdout,
//! messages go to stderr. `eva` and `kick` have modules of the same names.

mod args;
mod capture;
mod channels;
mod commands;
mod error;
mod eva;
mod home;
mod identity;
mod kick;
mod manual;
mod model_access;
mod models;
mod serving;
mod targets;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use gbrain_core::defect::DEFECT;

use args::{Args, GbrainCommand};
use commands::CommandContext;
use error::{CliError, Exit};
use home::{Environment, Home};
use terminal::{Pager, Terminal};

pub use eva::eva_main;
pub use kick::kick_main;

/// Runs a program and reports a panic, which is a bug, in one line with exit code 2.
pub(crate) fn catch_panics(run: fn() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        if !gbrain_brain::is_reading_files() {
            Terminal::new(false, true).error(&defect(panic));
        }
    }));
    std::panic::catch_unwind(run).unwrap_or_else(|_| Exit::NoVerdict.into())
}

fn defect(panic: &std::panic::PanicHookInfo<'_>) -> CliError {
    let location = panic.location().map_or_else(String::new, |location| format!(" ({location})"));
    let reason = panic.payload_as_str().unwrap_or("no reason was given");
    CliError::internal(format!("{DEFECT}{location}: {reason}"))
        .hint("everything written before is safe; please report this line and the command")
}

/// Runs the program `gbrain` and returns its exit code.
pub fn gbrain_main() -> ExitCode {
    catch_panics(run_gbrain)
}

fn run_gbrain() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let pager = Pager::of_environment(|name| std::env::var(name).ok());
    let terminal = Terminal::new(args.global.json, args.global.quiet)
        .with_pager(pager.filter(|_| !args.global.no_pager));
    match run_in(args, &terminal, &Environment::from_process()) {
        Ok(exit) => terminal.exit(exit).into(),
        Err(error) => {
            terminal.error(&error);
            Exit::from(error.kind).into()
        }
    }
}

/// Prints help, version or a usage error. With `--json`, a usage error is printed on stdout too.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let exit = if error.use_stderr() { Exit::NoVerdict } else { Exit::Pass };
    let words: Vec<OsString> = std::env::args_os().collect();
    let message = error.to_string();
    let shown = without_passwords(&message, &words);
    if exit == Exit::NoVerdict && words.iter().any(|word| word == "--json") {
        let first = shown.lines().next().unwrap_or_default();
        let refused = CliError::usage(first.trim_start_matches("error: "));
        Terminal::new(true, true).json(&refused.to_json());
    }
    let terminal = Terminal::new(false, true);
    // clap quotes the arguments without escaping them.
    let is_unsafe = words.iter().any(|word| terminal::is_unsafe_text(word)) || shown != message;
    match is_unsafe && error.use_stderr() {
        true => terminal.failure_text(&shown),
        false => terminal.record(error.print()),
    }
    terminal.exit(exit).into()
}

/// Removes database URLs that may hold a password from a usage error: the user may have typed one in the
/// wrong place.
fn without_passwords(message: &str, words: &[OsString]) -> String {
    let mut shown = message.to_owned();
    for word in words.iter().filter_map(|word| word.to_str()) {
        let value = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, v)| v);
        let may_hold_one = value.contains('@') || value.to_ascii_lowercase().contains("passw");
        if may_hold_one && gbrain_store::masked_url(value) != value {
            shown = shown.replace(value, "<URL>");
        }
    }
    shown
}

/// Runs one command in an environment. `gbrain demo` runs its steps through this function.
pub(crate) fn run_in(
    args: Args,
    terminal: &Terminal,
    environment: &Environment,
) -> Result<Exit, CliError> {
    match &args.command {
        GbrainCommand::Demo(args) => return commands::demo::run(args, terminal),
        GbrainCommand::Completions(args) => return Ok(manual::completions(args, terminal)),
        GbrainCommand::Man(args) => return manual::man(args, terminal),
        GbrainCommand::Eval(args) => {
            // Scoring reads two files and nothing else: no home, no brain.
            if let Some(args) = args.score_args() {
                return commands::eval::score::run(args, terminal);
            }
        }
        _ => (),
    }
    let home = Home::resolve(&args.global.home_flags(), environment)?;
    for warning in &home.warnings {
        terminal.warn(warning);
    }
    let context = CommandContext {
        home,
        terminal,
        now: gbrain_core::clock::moment(std::time::SystemTime::now()),
    };
    match args.command {
        GbrainCommand::Demo(args) => commands::demo::run(&args, terminal),
        GbrainCommand::Completions(args) => Ok(manual::completions(&args, terminal)),
        GbrainCommand::Man(args) => manual::man(&args, terminal),
        GbrainCommand::Eval(args) => commands::eval::run(&context, &args),
        GbrainCommand::Baseline(args) => commands::baseline::run(&context, &args),
        GbrainCommand::View(args) => commands::view::run(&context, &args),
        GbrainCommand::Doctor(args) => commands::doctor::run(&context, &args),
        GbrainCommand::Init(args) => commands::init::run(&context, &args),
        GbrainCommand::Import(args) => commands::import::run(&context, &args),
        GbrainCommand::Put(args) => commands::put::run(&context, &args),
        GbrainCommand::Get(args) => commands::get::run(&context, &args),
        GbrainCommand::History(args) => commands::history::run(&context, &args),
        GbrainCommand::List(args) => commands::list::run(&context, &args),
        GbrainCommand::Delete(args) => commands::delete::run(&context, &args),
        GbrainCommand::Restore(args) => commands::restore::run(&context, &args),
        GbrainCommand::Purge(args) => commands::purge::run(&context, &args),
        GbrainCommand::Search(args) => commands::search::run(&context, &args),
        GbrainCommand::Query(args) => commands::query::run(&context, &args),
        GbrainCommand::Links(args) => commands::links::run(&context, &args),
        GbrainCommand::Sources(args) => commands::sources::run(&context, &args),
        GbrainCommand::Workspaces(args) => commands::workspaces::run(&context, &args),
        GbrainCommand::Config(args) => commands::config::run(&context, &args),
        GbrainCommand::Stats(args) => commands::stats::run(&context, &args),
        GbrainCommand::Suites(args) => commands::suites::run(&context, &args),
        GbrainCommand::Queries(args) => commands::queries::run(&context, &args),
        GbrainCommand::Calibrate(args) => commands::calibrate::run(&context, &args),
        GbrainCommand::Feedback(args) => commands::feedback::run(&context, &args),
        GbrainCommand::Alerts(args) => commands::alerts::run(&context, &args),
        GbrainCommand::Events(args) => commands::events::run(&context, &args),
        GbrainCommand::Triage(args) => commands::triage::run(&context, &args),
        GbrainCommand::Incident(args) => commands::incident::run(&context, &args),
        GbrainCommand::Reindex(args) => commands::reindex::run(&context, &args),
        GbrainCommand::Reembed(args) => commands::reembed::run(&context, &args),
        GbrainCommand::Serve(args) => commands::serve::run(&context, &args),
        GbrainCommand::Mcp(args) => commands::mcp::run(&context, &args),
        GbrainCommand::Worker(args) => commands::worker::run(&context, &args),
        GbrainCommand::Autopilot(args) => commands::autopilot::run(&context, &args),
        GbrainCommand::Jobs(args) => commands::jobs::run(&context, &args),
        GbrainCommand::Models(args) => commands::models::run(&context, &args),
        GbrainCommand::Spend(args) => commands::spend::run(&context, &args),
        GbrainCommand::Targets(args) => commands::targets::run(&context, &args),
        GbrainCommand::Tokens(args) => commands::tokens::run(&context, &args),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use gbrain_core::defect::reports_panic;

    use super::*;

    #[test]
    fn reports_panic_recognises_a_panic_report() {
        let report = Arc::new(Mutex::new(String::new()));
        let seen = Arc::clone(&report);
        std::panic::set_hook(Box::new(move |panic| {
            *seen.lock().unwrap() = defect(panic).to_text();
        }));
        let caught = std::panic::catch_unwind(|| panic!("provoked"));
        drop(std::panic::take_hook());
        assert!(caught.is_err());
        let report = report.lock().unwrap().clone();
        assert!(
            report.contains("provoked") && report.contains("crates/cli/src/lib.rs"),
            "{report}"
        );
        assert!(reports_panic(&report), "{report}");
    }
}
