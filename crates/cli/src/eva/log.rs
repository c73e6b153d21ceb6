//! `eva log`: the latest runs.

use std::time::Duration;

use clap::Args;
use gbrain_prompts::domain::usage::{UsageRow, second};
use gbrain_prompts::{follow, tail};

use super::Context;
use crate::error::{CliError, Exit};
use crate::terminal::{field, table};

/// How often a log is looked at while it is followed.
const EVERY: Duration = Duration::from_millis(200);

/// Arguments of `log`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva log greet\n  eva log greet -n 100 --json | jq .duration_ms\n  \
    eva log greet --follow\n\nWith --json rows are printed as they are, one a line."
)]
pub(super) struct LogArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// How many.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    count: usize,
    /// Go on with rows as they are appended.
    #[arg(long, short)]
    follow: bool,
}

/// Prints them.
pub(super) fn run(context: &Context<'_>, args: &LogArgs) -> Result<Exit, CliError> {
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
        context.terminal.out(table(&head, rows.iter().map(|(_, row)| cells(row))));
    }
    warn(context, tail.lines.len() - rows.len());
    if args.follow {
        follow(&path, tail.length, EVERY, |line| appended(context, line))?;
    }
    Ok(Exit::Pass)
}

/// A row that came while the log was followed. Whoever reads may go: that is the end of following.
fn appended(context: &Context<'_>, line: &str) -> std::io::Result<()> {
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

/// A line with what it says, if it is a row.
fn row(line: &str) -> Option<(&str, UsageRow)> {
    UsageRow::parse(line.as_bytes()).map(|row| (line, row))
}

fn warn(context: &Context<'_>, malformed: usize) {
    if malformed > 0 {
        context.terminal.warn(format!("{malformed} line(s) are not rows and are left out"));
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
