//! `gbrain bench verify`: whether a baseline is what was published.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::baseline::{BaselineError, Integrity};
use gbrain_eval::{EvalError, Input, read_baseline};
use serde_json::json;

use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Arguments of `bench verify`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain bench verify baselines/*.baseline.ndjson")]
pub(crate) struct VerifyArgs {
    /// Baselines.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Verifies baselines: an edited one is a finding, one that can't be read is no verdict.
pub(super) fn run(context: &Context<'_>, args: &VerifyArgs) -> Result<Exit, CliError> {
    let (mut is_edited, mut is_unreadable) = (false, false);
    let mut rows = Vec::new();
    for path in &args.files {
        let (status, detail) = match Input::open(path).and_then(read_baseline) {
            Ok(baseline) => state(baseline.integrity, baseline.metadata.row_count),
            Err(EvalError::Baseline { source: source @ BaselineError::Edited { .. }, .. }) => {
                is_edited = true;
                ("refused", source.to_string())
            }
            // One that can't be read does not keep the others from being looked at.
            Err(error) => {
                is_unreadable = true;
                let error = CliError::from(error);
                context.terminal.warn(error.to_text().trim_end().trim_start_matches("error: "));
                let named = format!("{}: ", path.display());
                ("unreadable", error.message.trim_start_matches(&named).to_owned())
            }
        };
        rows.push((path.display().to_string(), status, detail));
    }
    let exit = match (is_edited, is_unreadable) {
        (true, _) => Exit::Fail,
        (false, true) => Exit::NoVerdict,
        (false, false) => Exit::Pass,
    };
    if context.terminal.is_json() {
        let files = rows.iter().map(
            |(path, status, detail)| json!({ "path": path, "status": status, "detail": detail }),
        );
        context.terminal.json(&json!({ "schema_version": 1, "files": files.collect::<Vec<_>>() }));
    } else {
        for (path, status, detail) in rows {
            context.terminal.line(format!("{status}: {path} ({detail})"));
        }
    }
    Ok(exit)
}

fn state(integrity: Integrity, rows: usize) -> (&'static str, String) {
    match integrity {
        Integrity::Intact => ("intact", format!("{rows} rows")),
        Integrity::NotTamperEvident => {
            ("not tamper-evident", format!("{rows} rows; publish it again for a rows_hash"))
        }
    }
}
