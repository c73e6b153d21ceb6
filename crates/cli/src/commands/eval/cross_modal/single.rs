//! One output before the panel.

use std::path::Path;

use gbrain_core::cross_modal::{AnswerCounts, JudgeInput, receipt_file_name, slug};
use gbrain_core::fault::FaultKind;
use gbrain_core::format::cross_modal::{Receipt, ReceiptParts};
use gbrain_core::hash::Hash;
use gbrain_core::report::text;

use super::{
    CrossModalArgs, Panelists, STDIN, allowed, keep, read_text, receipt_dir, rubric, said, text_of,
};
use crate::commands::CommandContext;
use crate::commands::eval::gate::exit;
use crate::error::{CliError, Exit};

/// How many times each model is asked in a run on a terminal.
const WATCHED_CYCLES: u8 = 3;

/// Judges one output and keeps the receipt.
pub(super) fn run(
    context: &CommandContext<'_>,
    args: &CrossModalArgs,
    task: &str,
    path: &Path,
) -> Result<Exit, CliError> {
    only_once_from_stdin(args, task, path)?;
    let task = text_of("--task", task)?;
    let expected = args.expected.as_deref().map(|text| text_of("--expected", text)).transpose()?;
    let output = said(read_text(path)?, &path.display().to_string())?;
    let case = JudgeInput { task: &task, expected: expected.as_deref(), output: &output };
    let rubric = rubric(args, AnswerCounts::of(case.expected))?;
    let slug = name(args, path, &output)?;
    let dir = receipt_dir(context, args)?;
    let panelists = Panelists::new(context, args)?;
    let cycles = if context.terminal.is_watched() { WATCHED_CYCLES } else { 1 };
    let jury = panelists.jury(args, &rubric, args.cycles.unwrap_or(cycles));
    let estimate = allowed(context, args, &jury, [case])?;
    let judged = jury.judge(&case).map_err(|error| {
        CliError::new(
            FaultKind::Model,
            format!("it could not be judged, and cost {}: {error}", error.cost),
        )
    })?;
    let kept = dir.join(receipt_file_name(&slug, judged.output_sha));
    let kept = std::path::absolute(&kept).unwrap_or(kept);
    let mut receipt = Receipt::new(&ReceiptParts {
        at: context.now,
        task: &task,
        expected: case.expected,
        slug: &slug,
        rubric: &rubric,
        judged: &judged,
        estimate,
        path: kept.to_str(),
    });
    let is_kept = keep(context, &kept, &receipt);
    if !is_kept {
        receipt.receipt_path = None;
    }
    if context.terminal.is_json() {
        context.terminal.json(&receipt);
    } else {
        context.terminal.report(text::cross_modal(&receipt));
    }
    Ok(if is_kept { exit(receipt.verdict) } else { Exit::NoVerdict })
}

fn only_once_from_stdin(args: &CrossModalArgs, task: &str, path: &Path) -> Result<(), CliError> {
    let from_stdin = format!("@{STDIN}");
    let texts = [Some(task), args.expected.as_deref()];
    let of_texts = texts.into_iter().flatten().filter(|text| *text == from_stdin).count();
    if of_texts + usize::from(path == Path::new(STDIN)) > 1 {
        return Err(CliError::usage("stdin can be read once")
            .hint("give one of --task, --expected and --output as a file or as text"));
    }
    Ok(())
}

/// The name of the output, from `--slug`, its absolute path and its content.
fn name(args: &CrossModalArgs, path: &Path, output: &str) -> Result<String, CliError> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let content = Hash::of(output.as_bytes());
    slug(args.slug.as_deref(), &whole.to_string_lossy(), content)
        .map_err(|error| CliError::usage(error.to_string()))
}
