//! `eva export-skill`: write a ready prompt as a skill for agents.

use clap::Args;
use serde_json::json;

use super::EvaContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  eva export-skill greet\n\nWrites dist/skills/<id>/SKILL.md and deletes \
    everything else in that directory. A prompt is ready if `eva promote` made it so, its text, verifier, defaults \
    and model have not changed since, and its logs still hold the runs and the evaluation behind the promotion."
)]
pub(super) struct ExportSkillArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Export the prompt even if it is not ready.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(context: &EvaContext<'_>, args: &ExportSkillArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let exported = gbrain_prompts::export_skill(&library, &prompt, args.force)?;
    if let Some(why) = &exported.forced_past {
        context.terminal.warn(format!("forced past: {why}"));
    }
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "id": prompt.id, "path": exported.path }));
    } else {
        context.terminal.line(exported.path.display().to_string());
    }
    Ok(Exit::Pass)
}
