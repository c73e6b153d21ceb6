//! Many outputs before the panel: the rows of a benchmark.

use std::path::{Path, PathBuf};

use gbrain_core::clock::moment;
use gbrain_core::cross_modal::batch::{BatchVerdict, RowToJudge, Rows};
use gbrain_core::cross_modal::{AnswerCounts, summary_file};
use gbrain_core::fault::FaultKind;
use gbrain_core::format::cross_modal::{Summary, SummaryParts};
use gbrain_core::hash::Hash;
use gbrain_core::report::text;
use gbrain_eval::cross_modal::judge_batch;

use super::{
    CrossModalArgs, Panelists, STDIN, allowed, keep, read_text, receipt_dir, rubric, said,
};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

/// Judges rows and keeps the summary.
pub(super) fn run(
    context: &CommandContext<'_>,
    args: &CrossModalArgs,
    path: &Path,
) -> Result<Exit, CliError> {
    let text = said(read_text(path)?, &path.display().to_string())?;
    let rows = usable(path, Rows::read(&text))?.limited(args.limit as usize);
    let rubric = rubric(args, AnswerCounts::of_rows(&rows))?;
    let kept = summary_path(context, args, &text)?;
    let panelists = Panelists::new(context, args)?;
    let jury = panelists.jury(args, &rubric, args.cycles.unwrap_or(1));
    let estimate = allowed(context, args, &jury, rows.questions.iter().map(RowToJudge::case))?;
    let concurrent = usize::from(args.concurrent);
    let bar = context.terminal.progress("judging");
    bar.set_length(rows.questions.len() as u64);
    let judged = judge_batch(&jury, &rows.questions, concurrent, &|n| bar.inc(n as u64));
    bar.finish_and_clear();
    let summary = Summary::new(&SummaryParts {
        at: moment(std::time::SystemTime::now()),
        rubric: &rubric,
        rows: &rows,
        judged: &judged,
        seats: &jury.panel_seats(),
        cycles: jury.cycles,
        concurrent,
        estimate,
    });
    let is_kept = keep(context, &kept, &summary);
    if context.terminal.is_json() {
        context.terminal.json(&summary);
    } else {
        context.terminal.report(text::cross_modal_batch(&summary));
    }
    Ok(if is_kept { exit(summary.verdict) } else { Exit::NoVerdict })
}

/// Rows, if there is something to judge among them.
fn usable(path: &Path, rows: Rows) -> Result<Rows, CliError> {
    if !rows.questions.is_empty() {
        return Ok(rows);
    }
    let (malformed, upstream) = (rows.malformed.len(), rows.upstream.len());
    let message = format!(
        "{}: there is no row to judge; {malformed} malformed, {upstream} not answered",
        path.display()
    );
    let mut error = CliError::new(FaultKind::Input, message);
    if let Some(first) = rows.malformed.first() {
        error = error.hint(format!("line {}: {}", first.line, first.why));
    }
    if let Some(first) = rows.upstream.first() {
        error = error.hint(format!("{} was not answered: {}", first.id, first.error));
    }
    Err(error.hint(
        "a row has `question` and `hypothesis`; `gbrain eval longmemeval --output FILE` writes such rows",
    ))
}

/// Where the summary goes.
fn summary_path(
    context: &CommandContext<'_>,
    args: &CrossModalArgs,
    rows: &str,
) -> Result<PathBuf, CliError> {
    match &args.output {
        Some(path) if path == Path::new(STDIN) => {
            Err(CliError::usage("with --batch, --output is the file of the summary")
                .hint("--json prints it"))
        }
        Some(path) => Ok(path.clone()),
        None => Ok(receipt_dir(context, args)?.join(summary_file(Hash::of(rows.as_bytes())))),
    }
}

fn exit(verdict: BatchVerdict) -> Exit {
    match verdict {
        BatchVerdict::Pass => Exit::Pass,
        BatchVerdict::Fail => Exit::Fail,
        BatchVerdict::Inconclusive | BatchVerdict::Error => Exit::NoVerdict,
    }
}
