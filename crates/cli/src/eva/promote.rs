//! `eva promote`: raise the status of a prompt one step, if there is evidence.

use clap::Args;
use gbrain_prompts::domain::UnmetRequirement;
use gbrain_prompts::domain::bodies::{GateBody, MoveBody, PROMPTS_VERSION, stale};
use gbrain_prompts::domain::logs::EvidenceLine;
use gbrain_prompts::{LibraryPrompt, PromotionResult, promote};

use super::show::{evidence_text, next, not_counted};
use super::{EvaContext, user_name, warn_malformed};
use crate::error::{CliError, Exit};
use crate::terminal::{field, red};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva promote greet\n  eva promote greet --force\n\n\
    From draft to tested: 3 runs that were sent and not refused by verify.sh. From tested to ready: 10 runs that \
    were sent and verified, and a passed evaluation of all cases. Only runs with the current text, verifier, \
    defaults and model count. eva.yml and meta.yml can set other numbers. Every promotion appends a line to \
    .promotions.jsonl. Exit codes: 0 promoted, 1 evidence is missing.")]
pub(super) struct PromoteArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Promote even if evidence is missing; the missing evidence is recorded.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(context: &EvaContext<'_>, args: &PromoteArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let moved = promote(&library, &prompt, args.force, &user_name(), context.now)?;
    print_promotion(context, &prompt, &moved);
    Ok(if moved.evidence.is_some() { Exit::Pass } else { Exit::Fail })
}

fn print_promotion(context: &EvaContext<'_>, prompt: &LibraryPrompt, moved: &PromotionResult) {
    let gate = GateBody::new(&moved.gate);
    if context.terminal.is_json() {
        context.terminal.json(&MoveBody {
            schema_version: PROMPTS_VERSION,
            id: &prompt.id,
            moved: moved.evidence.is_some(),
            status: moved.evidence.as_ref().map_or(prompt.meta.status, |evidence| evidence.to),
            evidence: moved.evidence.as_ref().map(EvidenceLine::new),
            gate: Some(gate.clone()),
            stale: stale(moved.stale.as_ref()),
        });
    }
    warn_malformed(context.terminal, &prompt.id, &moved.malformed);
    if let Some(stale) = &moved.stale {
        context.terminal.warn(format!("the evidence so far is stale: {stale}"));
    }
    if let Some(not_counted) = not_counted(&gate, &prompt.id) {
        context.terminal.warn(not_counted);
    }
    match &moved.evidence {
        Some(evidence) => {
            evidence
                .unmet
                .iter()
                .for_each(|unmet| context.terminal.warn(format!("forced past: {unmet}")));
            if !context.terminal.is_json() {
                context
                    .terminal
                    .line(format!("{}: {} -> {}", prompt.id, evidence.from, evidence.to));
                context.terminal.line(evidence_text(&EvidenceLine::new(evidence)));
            }
        }
        None => {
            let line = |unmet: &UnmetRequirement| {
                field(&format!("  {unmet}: {}", unmet.remedy(&prompt.id)))
            };
            let lines = moved.gate.unmet.iter().map(|unmet| red(&line(unmet)) + "\n");
            let list: String = lines.collect();
            context.terminal.remark(format!(
                "{} stays {}: {}",
                prompt.id,
                prompt.meta.status,
                next(&gate)
            ));
            if !context.terminal.is_json() {
                context.terminal.out(list);
            }
        }
    }
}
