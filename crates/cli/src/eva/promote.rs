//! `eva promote`: one step up, if the evidence is there.

use clap::Args;
use gbrain_prompts::domain::Unmet;
use gbrain_prompts::domain::bodies::{GateBody, MoveBody, PROMPTS_VERSION, stale};
use gbrain_prompts::domain::logs::EvidenceLine;
use gbrain_prompts::{Moved, Prompt, promote};

use super::show::{next, not_counted, rests_on};
use super::{Context, warn_of_lines, who};
use crate::error::{CliError, Exit};
use crate::terminal::{field, red};

/// Arguments of `promote`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva promote greet\n  eva promote greet --force\n\n\
    draft to tested takes 3 runs that were sent and not refuted; tested to ready takes 10 that were sent \
    and verified, and a green evaluation of all cases. A run counts for the text, verifier, defaults and model that \
    it was made with. eva.yml and meta.yml may ask for other numbers. \
    Every promotion leaves a line in .promotions.jsonl. Ends with 1 if a gate is closed.")]
pub(super) struct PromoteArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Promote although something is missing.
    #[arg(long)]
    force: bool,
}

/// Promotes it.
pub(super) fn run(context: &Context<'_>, args: &PromoteArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let moved = promote(&library, &prompt, args.force, &who(), context.now)?;
    tell(context, &prompt, &moved);
    Ok(if moved.evidence.is_some() { Exit::Pass } else { Exit::Fail })
}

fn tell(context: &Context<'_>, prompt: &Prompt, moved: &Moved) {
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
    warn_of_lines(context.terminal, &prompt.id, &moved.malformed);
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
                context.terminal.line(rests_on(&EvidenceLine::new(evidence)));
            }
        }
        None => {
            let line = |unmet: &Unmet| field(&format!("  {unmet}: {}", unmet.remedy(&prompt.id)));
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
