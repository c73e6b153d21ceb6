//! `eva show`: a prompt, its runs and what is missing for its next step.

use clap::Args;
use gbrain_prompts::Standing;
use gbrain_prompts::domain::Input;
use gbrain_prompts::domain::bodies::{
    GateBody, PROMPTS_VERSION, ShowBody, UsageBody, missing_evidence, stale,
};
use gbrain_prompts::domain::logs::EvidenceLine;

use super::{Context, warn_of_lines};
use crate::error::{CliError, Exit};
use crate::terminal::{bold, field};

/// Arguments of `show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  eva show greet")]
pub(super) struct ShowArgs {
    /// The prompt, or one of its aliases.
    id: String,
}

/// Shows it.
pub(super) fn run(context: &Context<'_>, args: &ShowArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let standing = Standing::read(&library, &prompt)?;
    let body = ShowBody {
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
    };
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        context.terminal.out(text(&body));
    }
    warn_of_lines(context.terminal, &prompt.id, &standing.malformed);
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
    let mut say = |name: &str, value: String| lines.push(format!("{name:<10} {value}"));
    if !body.inputs.is_empty() {
        say("inputs", body.inputs.iter().map(input).collect::<Vec<_>>().join(", "));
    }
    if !body.cases.is_empty() {
        say("cases", body.cases.join(", "));
    }
    usage(&body.usage, &mut say);
    say("eval", body.eval.to_owned());
    let not_counted = body.gate.as_ref().and_then(|gate| not_counted(gate, body.id));
    match &body.gate {
        Some(gate) => say("next", next(gate)),
        None if body.missing_evidence.is_some() => {
            say("next", "nothing: `ready` has no evidence".to_owned())
        }
        None => say("next", "nothing: it is ready".to_owned()),
    }
    if let Some(not_counted) = not_counted {
        say("other runs", not_counted);
    }
    if let Some(evidence) = &body.evidence {
        say("evidence", rests_on(evidence));
    }
    if let Some(stale) = &body.stale {
        say("stale", format!("{stale}: `eva demote {}` and collect new evidence", body.id));
    }
    lines.iter().map(|line| field(line) + "\n").collect()
}

fn input(input: &Input) -> String {
    match (&input.default, input.required) {
        (Some(default), _) => format!("{} (default: {default})", input.name),
        (None, true) => format!("{} (required)", input.name),
        (None, false) => input.name.clone(),
    }
}

fn usage(usage: &UsageBody, say: &mut impl FnMut(&str, String)) {
    let UsageBody { total, sent, verified_true, verified_false, verified_null, .. } = usage;
    say("runs", format!("{total}, {sent} of them sent"));
    say("verified", format!("{verified_true} true, {verified_false} false, {verified_null} null"));
    say("last", usage.last_ts.clone().unwrap_or_else(|| "-".to_owned()));
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
    say("medians", medians.join(", "));
    if let Some(line) = usage.first_malformed_line {
        let count = usage.malformed;
        say("malformed", format!("{count} line(s) count for nothing, the first is line {line}"));
    }
}

/// The way to the next step.
pub(super) fn next(gate: &GateBody) -> String {
    let to = gate.transition.rsplit('_').next().unwrap_or_default();
    let eval = if gate.require_eval { format!(", eval {}", gate.eval) } else { String::new() };
    let open = if gate.unmet.is_empty() { " (open: eva promote)" } else { "" };
    format!("{to}: {}/{} {}{eval}{open}", gate.uses, gate.min_uses, gate.counts)
}

/// Runs that do not count for the text as it is now, in words.
pub(super) fn not_counted(gate: &GateBody, id: &str) -> Option<String> {
    let other = "of another text, verifier, default or model";
    let unknown = "without a record of their text";
    let counts = [(gate.other_text, other), (gate.unknown_text, unknown)];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} sent run(s) {what}"))
        .collect();
    let list = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("{list} do not count: `kick {id} --send` makes new ones"))
}

/// What a status rests on.
pub(super) fn rests_on(evidence: &EvidenceLine) -> String {
    let EvidenceLine { ts, action, by, uses, sent, prompt_hash, .. } = evidence;
    let rate = match evidence.wilson_low {
        Some(low) => format!(", at least {:.0} % of runs (95 %)", low * 100.0),
        None => String::new(),
    };
    format!("{action} {ts} by {by}: {uses} uses of {sent} sent{rate}, text {prompt_hash}")
}
