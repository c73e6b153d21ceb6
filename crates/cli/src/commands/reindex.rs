//! `gbrain reindex`: makes the index again, or verifies it.

use clap::Args;
use gbrain_brain::wire::{ReindexBody, VerifyBody};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::advance;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain reindex\n  gbrain reindex --verify    (exit 1 if anything is wrong)"
)]
pub(crate) struct ReindexArgs {
    /// Change nothing; compare store and index, page by page, chunk by chunk.
    #[arg(long)]
    verify: bool,
}

/// Rebuilds, or verifies: findings are exit 1.
pub(crate) fn run(context: &CommandContext<'_>, args: &ReindexArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let bar = context.terminal.progress("indexing");
    let on_progress = |done: i64, total: i64| {
        bar.set_length(total.unsigned_abs());
        advance(&bar, done.unsigned_abs());
    };
    if !args.verify {
        let corpus = brain.reindex(&on_progress)?;
        bar.finish_and_clear();
        if context.terminal.is_json() {
            context.terminal.json(&ReindexBody::new(&corpus));
        } else {
            context.terminal.line(format!(
                "indexed {} pages, {} chunks at generation {}",
                corpus.pages, corpus.chunks, corpus.generation.0
            ));
        }
        return Ok(Exit::Pass);
    }
    let report = brain.verify(&on_progress)?;
    bar.finish_and_clear();
    if context.terminal.is_json() {
        context.terminal.json(&VerifyBody::new(&report));
    } else {
        for finding in &report.findings {
            context.terminal.line(format!("{}: {}", finding.check, finding.detail));
        }
        let verdict = if report.findings.is_empty() { "clean" } else { "NOT clean" };
        context.terminal.line(format!(
            "{verdict}: checked {} pages and {} chunks, {} findings",
            report.pages,
            report.chunks,
            report.findings.len()
        ));
    }
    Ok(if report.findings.is_empty() { Exit::Pass } else { Exit::Fail })
}
