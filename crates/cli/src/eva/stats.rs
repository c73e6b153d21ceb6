//! `eva stats`: compare prompts by their runs.

use clap::Args;
use gbrain_core::fault::chain;
use gbrain_prompts::domain::bodies::{
    GateBody, PROMPTS_VERSION, PromptRow, PromptsBody, UsageBody, missing_evidence, stale,
};
use gbrain_prompts::{Library, MalformedLines, PromptAssessment, PromptEntry};

use super::list::row;
use super::{EvaContext, warn_malformed};
use crate::error::{CliError, Exit};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva stats\n  eva stats --json\n\n\
    Medians and the chart of durations cover the runs that were sent; the chart shows the latest 40.")]
pub(super) struct StatsArgs {}

pub(super) fn run(context: &EvaContext<'_>, _: &StatsArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let listed = library.list()?;
    let bar = context.terminal.progress("prompts");
    bar.set_length(listed.len() as u64);
    let (mut rows, mut malformed) = (Vec::new(), Vec::new());
    for listed in &listed {
        let (row, lines) = full_row(&library, listed);
        malformed.extend(lines.map(|lines| (row.id.clone(), lines)));
        rows.push(row);
        bar.inc(1);
    }
    bar.finish_and_clear();
    malformed.iter().for_each(|(id, lines)| warn_malformed(context.terminal, id, lines));
    let is_whole = rows.iter().all(|row| row.error.is_none());
    if context.terminal.is_json() {
        context.terminal.json(&PromptsBody { schema_version: PROMPTS_VERSION, prompts: rows });
    } else {
        let head = [
            "prompt",
            "status",
            "runs",
            "sent",
            "verified",
            "median ms",
            "words in",
            "words out",
            "next",
            "durations",
        ];
        context.terminal.out_paged(table(&head, rows.iter().map(cells)));
        for row in &rows {
            if let Some(error) = &row.error {
                context.terminal.warn(format!("{} can't be read: {error}", row.id));
            }
        }
    }
    Ok(if is_whole { Exit::Pass } else { Exit::NoVerdict })
}

/// The row of a prompt, and the number of malformed lines in each of its logs.
fn full_row(library: &Library, listed: &PromptEntry) -> (PromptRow, Option<MalformedLines>) {
    let mut row = row(listed);
    let Ok(prompt) = &listed.prompt else { return (row, None) };
    match PromptAssessment::read(library, prompt) {
        Ok(standing) => {
            row.gate = standing.gate.as_ref().map(GateBody::new);
            row.usage = Some(UsageBody::new(&standing.usage));
            row.latest_durations_ms = Some(standing.usage.latest_durations());
            row.stale = stale(standing.stale.as_ref());
            row.missing_evidence = missing_evidence(standing.missing_evidence.as_ref());
            (row, Some(standing.malformed))
        }
        Err(error) => {
            row.error = Some(chain(&error));
            (row, None)
        }
    }
}

fn cells(row: &PromptRow) -> Vec<String> {
    let Some(usage) = &row.usage else {
        return vec![row.id.clone(), "unreadable".to_owned()];
    };
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    let evidence = match (&row.stale, &row.missing_evidence) {
        (Some(_), _) => Some("stale"),
        (None, Some(_)) => Some("no evidence"),
        (None, None) => None,
    };
    let progress = row.gate.as_ref().map(|gate| format!("{}/{}", gate.uses, gate.min_uses));
    let next: Vec<String> = progress.into_iter().chain(evidence.map(str::to_owned)).collect();
    let next = if next.is_empty() { "-".to_owned() } else { next.join(", ") };
    vec![
        row.id.clone(),
        row.status.map(|status| status.to_string()).unwrap_or_default(),
        usage.total.to_string(),
        usage.sent.to_string(),
        format!("{}/{}", usage.verified_true, usage.verified_true + usage.verified_false),
        number(usage.median_duration_ms),
        number(usage.median_prompt_words),
        number(usage.median_output_words),
        next,
        sparkline(row.latest_durations_ms.as_deref().unwrap_or_default()),
    ]
}

/// A sparkline from zero to the largest value.
fn sparkline(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or_default().max(1) as f64;
    let bar = |value: &u64| BARS[((*value as f64 / most * 7.0).round() as usize).min(7)];
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_go_from_zero_to_the_largest() {
        assert_eq!(sparkline(&[0, 50, 100]), "▁▅█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
