//! `eva log`: print the latest runs of a prompt.

use std::time::Duration;

use clap::Args;
use gbrain_prompts::domain::usage::{UsageRow, second};
use gbrain_prompts::{follow, tail};

use super::EvaContext;
use crate::error::{CliError, Exit};
use crate::terminal::{count, field, table};

/// The polling interval of `--follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva log greet\n  eva log greet -n 100 --json | jq .duration_ms\n  \
    eva log greet --follow\n\nWith --json the rows are printed as logged, one per line."
)]
pub(super) struct UsageLogArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// The number of runs to print.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    count: usize,
    /// Keep running and print new rows as they are appended.
    #[arg(long, short)]
    follow: bool,
}

pub(super) fn run(context: &EvaContext<'_>, args: &UsageLogArgs) -> Result<Exit, CliError> {
    let prompt = context.library()?.prompt(&args.id)?;
    let path = prompt.usage_log();
    let tail = tail(&path, args.count)?;
    let rows: Vec<(&str, UsageRow)> = tail.lines.iter().filter_map(|line| row(line)).collect();
    if context.terminal.is_json() {
        rows.iter().for_each(|(line, _)| context.terminal.out(format!("{line}\n")));
    } else if args.follow {
        rows.iter().for_each(|(_, row)| context.terminal.line(text(row)));
    } else {
        let head =
            ["when", "case", "vars", "sent", "exit", "verified", "ms", "words in", "words out"];
        context.terminal.out_paged(table(&head, rows.iter().map(|(_, row)| cells(row))));
    }
    warn(context, tail.lines.len() - rows.len());
    if args.follow {
        follow(&path, tail.length, POLL_INTERVAL, |line| print_appended(context, line))?;
    }
    Ok(Exit::Pass)
}

/// Prints a row that was appended to a followed log. A closed stdout ends the command.
fn print_appended(context: &EvaContext<'_>, line: &str) -> std::io::Result<()> {
    let text = match row(line) {
        Some(_) if context.terminal.is_json() => line.to_owned(),
        Some((_, row)) => field(&text(&row)),
        None if line.is_empty() => return Ok(()),
        None => {
            warn(context, 1);
            return Ok(());
        }
    };
    let written = context.terminal.try_out(format!("{text}\n"));
    let end = written.as_ref().err().map(|error| std::io::Error::from(error.kind()));
    context.terminal.record(written);
    end.map_or(Ok(()), Err)
}

/// A line with its row; `None` if the line is malformed.
fn row(line: &str) -> Option<(&str, UsageRow)> {
    UsageRow::parse(line.as_bytes()).map(|row| (line, row))
}

fn warn(context: &EvaContext<'_>, malformed: usize) {
    if malformed > 0 {
        context.terminal.warn(count(
            malformed,
            "malformed line was skipped",
            "malformed lines were skipped",
        ));
    }
}

fn cells(row: &UsageRow) -> Vec<String> {
    let UsageRow { ts, case, vars_hash, sent, exit_code, verified, .. } = row;
    let UsageRow { duration_ms, prompt_words, output_words, .. } = row;
    vec![
        second(*ts),
        case.clone().unwrap_or_else(|| "-".to_owned()),
        vars_hash.clone(),
        if *sent { "yes" } else { "no" }.to_owned(),
        exit_code.to_string(),
        verified.map_or("-".to_owned(), |verified| verified.to_string()),
        duration_ms.to_string(),
        prompt_words.to_string(),
        output_words.to_string(),
    ]
}

fn text(row: &UsageRow) -> String {
    cells(row).join("  ")
}
