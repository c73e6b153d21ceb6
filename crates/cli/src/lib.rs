//! The programs `gbrain`, `eva` and `kick`.
//!
//! This file is the table of contents of `gbrain`: what was typed is parsed in `args`, what is meant
//! is resolved in `home`, each command is one file in `commands`, and `terminal` is the only
//! place that prints. stdout is data, stderr is talk. `eva` and `kick` are modules of their names.

mod args;
mod asking;
mod capture;
mod channels;
mod commands;
mod error;
mod eva;
mod home;
mod identity;
mod kick;
mod manual;
mod models;
mod serving;
mod targets;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use gbrain_core::defect::DEFECT;

use args::{Args, Command};
use commands::Context;
use error::{CliError, Exit};
use home::{Environment, Home};
use terminal::Terminal;

pub use eva::eva;
pub use kick::kick;

/// Runs a program. A panic is a defect of ours: it is told in one line, and there is no verdict.
pub(crate) fn guarded(run: fn() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        if !gbrain_brain::is_reading_files() {
            Terminal::new(false, true).error(&defect(panic));
        }
    }));
    std::panic::catch_unwind(run).unwrap_or_else(|_| Exit::NoVerdict.into())
}

fn defect(panic: &std::panic::PanicHookInfo<'_>) -> CliError {
    let place = panic.location().map_or_else(String::new, |place| format!(" ({place})"));
    let reason = panic.payload_as_str().unwrap_or("no reason was given");
    CliError::internal(format!("{DEFECT}{place}: {reason}"))
        .hint("what was written before is safe; please report this line and the command")
}

/// The program `gbrain`.
pub fn gbrain() -> ExitCode {
    guarded(run_gbrain)
}

fn run_gbrain() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let terminal = Terminal::new(args.global.json, args.global.quiet);
    match run_in(args, &terminal, &Environment::of_process()) {
        Ok(exit) => terminal.exit(exit).into(),
        Err(error) => {
            terminal.error(&error);
            Exit::from(error.kind).into()
        }
    }
}

/// Help and version are answers; anything else that clap refuses is a usage error, on stdout too
/// when JSON was asked for.
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
    // What was typed is quoted, and clap prints it as it is.
    let is_unsafe = words.iter().any(|word| terminal::is_unsafe_text(word)) || shown != message;
    match is_unsafe && error.use_stderr() {
        true => terminal.failure_text(&shown),
        false => terminal.record(error.print()),
    }
    terminal.exit(exit).into()
}

/// A message without the database URLs that were typed in the wrong place, if they may hold a password.
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

/// Runs one command in an environment; the demo runs its steps through here too.
pub(crate) fn run_in(
    args: Args,
    terminal: &Terminal,
    environment: &Environment,
) -> Result<Exit, CliError> {
    match &args.command {
        Command::Demo(args) => return commands::demo::run(args, terminal),
        Command::Completions(args) => return Ok(manual::completions(args, terminal)),
        Command::Man(args) => return manual::man(args, terminal),
        Command::Eval(args) => {
            // Scoring reads two files and nothing else: no home, no brain.
            if let Some(args) = args.score() {
                return commands::eval::score::run(args, terminal);
            }
        }
        _ => (),
    }
    let home = Home::resolve(&args.global.home_flags(), environment)?;
    for warning in &home.warnings {
        terminal.warn(warning);
    }
    let context =
        Context { home, terminal, now: gbrain_core::clock::moment(std::time::SystemTime::now()) };
    match args.command {
        Command::Demo(args) => commands::demo::run(&args, terminal),
        Command::Completions(args) => Ok(manual::completions(&args, terminal)),
        Command::Man(args) => manual::man(&args, terminal),
        Command::Eval(args) => commands::eval::run(&context, &args),
        Command::Bench(args) => commands::bench::run(&context, &args),
        Command::Doctor(args) => commands::doctor::run(&context, &args),
        Command::Init(args) => commands::init::run(&context, &args),
        Command::Import(args) => commands::import::run(&context, &args),
        Command::Put(args) => commands::put::run(&context, &args),
        Command::Get(args) => commands::get::run(&context, &args),
        Command::History(args) => commands::history::run(&context, &args),
        Command::List(args) => commands::list::run(&context, &args),
        Command::Delete(args) => commands::delete::run(&context, &args),
        Command::Restore(args) => commands::restore::run(&context, &args),
        Command::Purge(args) => commands::purge::run(&context, &args),
        Command::Search(args) => commands::search::run(&context, &args),
        Command::Query(args) => commands::query::run(&context, &args),
        Command::Links(args) => commands::links::run(&context, &args),
        Command::Sources(args) => commands::sources::run(&context, &args),
        Command::Workspaces(args) => commands::workspaces::run(&context, &args),
        Command::Config(args) => commands::config::run(&context, &args),
        Command::Stats(args) => commands::stats::run(&context, &args),
        Command::Suites(args) => commands::suites::run(&context, &args),
        Command::Queries(args) => commands::queries::run(&context, &args),
        Command::Calibrate(args) => commands::calibrate::run(&context, &args),
        Command::Feedback(args) => commands::feedback::run(&context, &args),
        Command::Alerts(args) => commands::alerts::run(&context, &args),
        Command::Events(args) => commands::events::run(&context, &args),
        Command::Triage(args) => commands::triage::run(&context, &args),
        Command::Incident(args) => commands::incident::run(&context, &args),
        Command::Reindex(args) => commands::reindex::run(&context, &args),
        Command::Reembed(args) => commands::reembed::run(&context, &args),
        Command::Serve(args) => commands::serve::run(&context, &args),
        Command::Mcp(args) => commands::mcp::run(&context, &args),
        Command::Worker(args) => commands::worker::run(&context, &args),
        Command::Autopilot(args) => commands::autopilot::run(&context, &args),
        Command::Jobs(args) => commands::jobs::run(&context, &args),
        Command::Models(args) => commands::models::run(&context, &args),
        Command::Spend(args) => commands::spend::run(&context, &args),
        Command::Targets(args) => commands::targets::run(&context, &args),
        Command::Tokens(args) => commands::tokens::run(&context, &args),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use gbrain_core::defect::reports_panic;

    use super::*;

    #[test]
    fn what_looks_for_panics_recognises_the_report_of_one() {
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
