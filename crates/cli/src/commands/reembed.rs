//! `gbrain reembed`: moves a brain's vectors to the model this gbrain wants.

use std::process::{Command, Stdio};

use clap::Args;
use gbrain_brain::{VectorReport, wire};
use gbrain_store::Location;
use serde_json::json;

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `reembed`.
#[derive(Debug, Args)]
#[command(
    after_help = "The old vectors are searched until the new ones are all there; one commit switches. \
                  Cut off at any\nmoment, it goes on where it was when it is run again.\n\n\
                  Examples:\n  gbrain reembed --status\n  gbrain reembed\n  gbrain reembed --background"
)]
pub(crate) struct ReembedArgs {
    /// Change nothing; say whose vectors there are, and how far the next ones are.
    #[arg(long, conflicts_with = "background")]
    status: bool,
    /// Go on in a process of its own, and return at once.
    #[arg(long)]
    background: bool,
}

/// Re-embeds, or says how things stand.
pub(crate) fn run(context: &Context<'_>, args: &ReembedArgs) -> Result<Exit, CliError> {
    if args.background {
        return start_in_background(context);
    }
    let brain = context.brain()?;
    if args.status {
        print(context, &brain.vector_report()?);
        return Ok(Exit::Pass);
    }
    let bar = context.terminal.progress("embedding");
    let report = brain.reembed(&|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    print(context, &report);
    Ok(Exit::Pass)
}

fn start_in_background(context: &Context<'_>) -> Result<Exit, CliError> {
    let failed = |source: std::io::Error| {
        CliError::usage(format!("a process could not be started: {source}"))
            .hint("run `gbrain reembed` without --background")
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("--home").arg(&context.home.dir).arg("--workspace");
    command.arg(context.home.workspace.as_str()).arg("reembed");
    // Not as an argument, which every user of the machine could read.
    let url = match &context.home.location {
        Location::Postgres(url) => url.clone(),
        Location::Sqlite(path) => path.to_string_lossy().into_owned(),
    };
    command.env("DATABASE_URL", url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let id = command.spawn().map_err(failed)?.id();
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "process": id }));
    } else {
        context.terminal.line(format!(
            "embedding goes on as process {id}; `gbrain reembed --status` tells how far it is"
        ));
    }
    Ok(Exit::Pass)
}

fn print(context: &Context<'_>, report: &VectorReport) {
    let VectorReport { held, is_searchable, wanted, made, total } = report;
    if context.terminal.is_json() {
        context.terminal.json(&wire::vectors(report));
        return;
    }
    let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "no model".to_owned());
    context.terminal.line(format!("vectors held: {}", name(held)));
    if report.is_settled() {
        context.terminal.line("they are of the model that is wanted");
        return;
    }
    if !is_searchable {
        context.terminal.line("this gbrain does not have that model: queries go by words alone");
    }
    context.terminal.line(format!(
        "wanted: {}, {made} of {total} chunks made; `gbrain reembed` makes the rest and switches",
        name(wanted)
    ));
}
