//! `gbrain baseline verify`: whether a baseline is what was published.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::baseline::{BaselineError, BaselineIntegrity, SignatureCheck};
use gbrain_core::report::json::{
    BASELINE_VERSION, BaselineVerified, BaselinesVerified, IntegrityStatus,
};
use gbrain_eval::{EvalError, Input, read_baseline};

use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::error::{CliError, Exit};
use crate::terminal::count;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain baseline verify baselines/*.baseline.ndjson\n  \
    gbrain baseline verify --key-file ci.key baselines/*.baseline.ndjson\n\n\
    A rows_hash has no key: it shows accidental edits; an editor who means to can compute it \
    again. A signature (HMAC, with a key) shows both. Exit codes: 0 every baseline is as it \
    was published, or edits cannot be detected in it; 1 one was edited, or is not signed with the key \
    that is configured; 2 one can't be read.")]
pub(crate) struct VerifyArgs {
    /// The files of the baselines.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
}

/// Verifies baselines: an edited one is a finding, one that can't be read is no verdict.
pub(super) fn run(context: &CommandContext<'_>, args: &VerifyArgs) -> Result<Exit, CliError> {
    let signature = SignatureCheck::required(args.key.read(&context.home)?.as_ref());
    let (mut is_edited, mut is_unreadable) = (false, false);
    let mut files = Vec::new();
    for path in &args.files {
        let (status, detail) = match Input::open(path)
            .and_then(|input| read_baseline(input.checking(signature.clone())))
        {
            Ok(baseline) => state(baseline.integrity, baseline.metadata.row_count),
            Err(EvalError::Baseline { source, .. }) if is_refusal(&source) => {
                is_edited = true;
                (IntegrityStatus::Refused, source.to_string())
            }
            // One that can't be read does not keep the others from being looked at.
            Err(error) => {
                is_unreadable = true;
                let error = CliError::from(error);
                let text = error.to_text();
                context.terminal.warn_text(text.trim_end().trim_start_matches("error: "));
                let named = format!("{}: ", path.display());
                (IntegrityStatus::Unreadable, error.message.trim_start_matches(&named).to_owned())
            }
        };
        files.push(BaselineVerified { path: path.display().to_string(), status, detail });
    }
    let exit = match (is_edited, is_unreadable) {
        (true, _) => Exit::Fail,
        (false, true) => Exit::NoVerdict,
        (false, false) => Exit::Pass,
    };
    if context.terminal.is_json() {
        context.terminal.json(&BaselinesVerified { schema_version: BASELINE_VERSION, files });
    } else {
        for BaselineVerified { path, status, detail } in files {
            context.terminal.line(format!("{status}: {path} ({detail})"));
        }
    }
    Ok(exit)
}

/// Whether a file is refused for what it is, not for what it says.
fn is_refusal(error: &BaselineError) -> bool {
    matches!(
        error,
        BaselineError::Edited { .. } | BaselineError::Unsigned | BaselineError::BadSignature { .. }
    )
}

fn state(integrity: BaselineIntegrity, rows: usize) -> (IntegrityStatus, String) {
    let checked = integrity.in_words();
    match integrity {
        BaselineIntegrity::Intact
        | BaselineIntegrity::Signed
        | BaselineIntegrity::SignatureNotChecked => {
            (IntegrityStatus::Intact, format!("{}, {checked}", count(rows, "row", "rows")))
        }
        BaselineIntegrity::NotTamperEvident => (
            IntegrityStatus::NotEvident,
            format!("{}, {checked}; publish it again for a rows_hash", count(rows, "row", "rows")),
        ),
    }
}
