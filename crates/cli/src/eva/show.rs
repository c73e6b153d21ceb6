//! `eva show`: a prompt, its runs, and what is missing for its next promotion.

use clap::Args;
use gbrain_prompts::domain::PromptInput;
use gbrain_prompts::domain::bodies::{
    GateBody, PROMPTS_VERSION, ShowBody, UsageBody, missing_evidence, stale,
};
use gbrain_prompts::domain::logs::EvidenceLine;
use gbrain_prompts::{LibraryPrompt, PromptAssessment};

use super::{EvaContext, warn_malformed};
use crate::error::{CliError, Exit};
use crate::terminal::{bold, count, field};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  eva show greet")]
pub(super) struct PromptShowArgs {
    /// The prompt, or one of its aliases.
    id: String,
}

/// A prompt with its runs and its evidence.
pub(super) fn body<'a>(prompt: &'a LibraryPrompt, standing: &PromptAssessment) -> ShowBody<'a> {
    ShowBody {
        schema_version: PROMPTS_VERSION,
        id: &prompt.id,
        title: &prompt.meta.title,
        summary: &prompt.meta.summary,
        status: prompt.meta.status,
        version: &prompt.meta.version,
        updated: &prompt.meta.updated,
        inputs: &prompt.meta.inputs,
        cases: prompt.cases(),
        prompt_hash: prompt.hash(),
        usage: UsageBody::new(&standing.usage),
        gate: standing.gate.as_ref().map(GateBody::new),
        eval: standing.eval.name(),
        evidence: standing.evidence.as_ref().map(EvidenceLine::new),
        stale: stale(standing.stale.as_ref()),
        missing_evidence: missing_evidence(standing.missing_evidence.as_ref()),
    }
}

pub(super) fn run(context: &EvaContext<'_>, args: &PromptShowArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let standing = PromptAssessment::read(&library, &prompt)?;
    let body = body(&prompt, &standing);
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        context.terminal.out(text(&body));
    }
    warn_malformed(context.terminal, &prompt.id, &standing.malformed);
    if let Some(why) = &standing.missing_evidence {
        context.terminal.warn(format!("{why}: {}", why.remedy(&prompt.id)));
    }
    Ok(Exit::Pass)
}

fn text(body: &ShowBody<'_>) -> String {
    let mut lines = vec![
        format!("{} ({}, {})", bold(body.id), body.status, body.version),
        format!("{}: {}", body.title, body.summary),
        String::new(),
    ];
    let mut add = |name: &str, value: String| lines.push(format!("{name:<10} {value}"));
    if !body.inputs.is_empty() {
        add("inputs", body.inputs.iter().map(input).collect::<Vec<_>>().join(", "));
    }
    if !body.cases.is_empty() {
        add("cases", body.cases.join(", "));
    }
    usage(&body.usage, &mut add);
    add("eval", body.eval.to_owned());
    let not_counted = body.gate.as_ref().and_then(|gate| not_counted(gate, body.id));
    match &body.gate {
        Some(gate) => add("next", next(gate)),
        None if body.missing_evidence.is_some() => {
            add("next", "nothing: `ready` has no evidence".to_owned())
        }
        None => add("next", "nothing: it is ready".to_owned()),
    }
    if let Some(not_counted) = not_counted {
        add("other runs", not_counted);
    }
    if let Some(evidence) = &body.evidence {
        add("evidence", evidence_text(evidence));
    }
    if let Some(stale) = &body.stale {
        add("stale", format!("{stale}: run `eva demote {}` and collect new evidence", body.id));
    }
    lines.iter().map(|line| field(line) + "\n").collect()
}

fn input(input: &PromptInput) -> String {
    match (&input.default, input.required) {
        (Some(default), _) => format!("{} (default: {default})", input.name),
        (None, true) => format!("{} (required)", input.name),
        (None, false) => input.name.clone(),
    }
}

fn usage(usage: &UsageBody, add: &mut impl FnMut(&str, String)) {
    let UsageBody { total, sent, verified_true, verified_false, verified_null, .. } = usage;
    add("runs", format!("{total}, {sent} of them sent"));
    add("verified", format!("{verified_true} true, {verified_false} false, {verified_null} null"));
    add("last", usage.last_ts.clone().unwrap_or_else(|| "-".to_owned()));
    let about = if usage.medians_exact { "" } else { "about " };
    let median = |value: Option<f64>, unit: &str| match value {
        Some(value) => format!("{about}{value} {unit}"),
        None => format!("- {unit}"),
    };
    let medians = [
        median(usage.median_duration_ms, "ms"),
        median(usage.median_prompt_words, "words in"),
        median(usage.median_output_words, "words out"),
    ];
    add("medians", medians.join(", "));
    if let Some(line) = usage.first_malformed_line {
        let lines = count(usage.malformed, "line does", "lines do");
        add("malformed", format!("{lines} not count, the first is line {line}"));
    }
}

/// The progress towards the next promotion.
pub(super) fn next(gate: &GateBody) -> String {
    let to = gate.transition.rsplit('_').next().unwrap_or_default();
    let eval = if gate.require_eval { format!(", eval {}", gate.eval) } else { String::new() };
    let open = if gate.unmet.is_empty() { " (open: eva promote)" } else { "" };
    format!("{to}: {}/{} {}{eval}{open}", gate.uses, gate.min_uses, gate.counts)
}

/// The number of runs that do not count for the current text, in words.
pub(super) fn not_counted(gate: &GateBody, id: &str) -> Option<String> {
    let other = "of another text, verifier, default or model";
    let unknown = "without a record of their text";
    let counts = [(gate.other_text, other), (gate.unknown_text, unknown)];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(runs, _)| *runs > 0)
        .map(|(runs, what)| format!("{} {what}", count(*runs, "sent run", "sent runs")))
        .collect();
    let list = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("{list} do not count: `kick {id} --send` makes new ones"))
}

/// The evidence behind a status, in words.
pub(super) fn evidence_text(evidence: &EvidenceLine) -> String {
    let EvidenceLine { ts, action, by, uses, sent, prompt_hash, .. } = evidence;
    let rate = match evidence.wilson_low {
        Some(low) => format!(", at least {:.0} % of runs (95 %)", low * 100.0),
        None => String::new(),
    };
    format!("{action} {ts} by {by}: {uses} uses of {sent} sent{rate}, text {prompt_hash}")
}
