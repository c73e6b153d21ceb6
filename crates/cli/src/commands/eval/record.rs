//! `gbrain eval record`: puts captured requests to a target and keeps its answers as captures of it.

use std::path::PathBuf;

use clap::Args;
use gbrain_eval::{Input, NotRecorded, check_output, read_publishable, record, write_atomically};
use serde_json::json;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::identity::workspace_key;
use crate::targets::{TargetArgs, open_target};

/// Failed rows that are named.
const NAMED: usize = 3;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    gbrain eval record --against captured.ndjson --target prod --output prod.ndjson\n  \
    gbrain baseline publish --from prod.ndjson --to prod.baseline.ndjson --label prod\n  \
    gbrain eval gate --baseline prod.baseline.ndjson --target prod\n\n\
    The latency of a target is compared only with captures of the same target.")]
pub(crate) struct RecordArgs {
    /// Captures or a baseline; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Where the captures of the target go.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// How often each request is put to the target: the shortest time is kept.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    #[command(flatten)]
    target: TargetArgs,
}

pub(super) fn run(context: &CommandContext<'_>, args: &RecordArgs) -> Result<Exit, CliError> {
    check_output(&args.output)?;
    let Some(settings) = args.target.remote(&context.home)? else {
        return Err(CliError::usage("no target to record")
            .hint("name one with --target; the local brain records itself while capture is on"));
    };
    let rows = read_publishable(Input::open(&args.against)?)?;
    let target = open_target(context, settings)?;
    let bar = context.terminal.progress("recording");
    bar.set_length(rows.len() as u64);
    let identity = workspace_key(&context.home)?;
    let step = |n| bar.inc(n as u64);
    let (recorded, missing) =
        record(target.as_ref(), &rows, args.repeats, context.now, identity.as_ref(), &step)?;
    bar.finish_and_clear();
    let text: String = recorded.iter().map(|row| format!("{row}\n")).collect();
    if !recorded.is_empty() {
        write_atomically(&args.output, text.as_bytes())?;
    }
    if context.terminal.is_json() {
        context.terminal.json(&json!({
            "schema_version": 1, "recorded": recorded.len(), "not_recorded": missing.len(),
            "output": args.output,
        }));
    } else {
        context.terminal.line(format!(
            "recorded {} of {} requests in {}",
            recorded.len(),
            rows.len(),
            args.output.display()
        ));
    }
    for NotRecorded { line, why } in missing.iter().take(NAMED) {
        context.terminal.warn(format!("line {line} was not recorded: {why}"));
    }
    let is_whole = missing.is_empty() && !recorded.is_empty();
    Ok(if is_whole { Exit::Pass } else { Exit::NoVerdict })
}
