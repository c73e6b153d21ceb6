//! `gbrain init`: makes a brain.

use clap::Args;
use gbrain_brain::IndexKind;
use gbrain_store::OpenMode;
use serde_json::json;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain init\n  \
    gbrain init --database-url postgres://gbrain@db.example/brain")]
pub(crate) struct InitArgs {}

/// Makes the home, its config.json and the schema. Running it again changes nothing.
pub(crate) fn run(context: &CommandContext<'_>, _: &InitArgs) -> Result<Exit, CliError> {
    let brain = context.brain_with(OpenMode::Init, IndexKind::Disk)?;
    let wrote_config = context.home.write_config()?;
    let location = context.home.location.to_string();
    if context.terminal.is_json() {
        context.terminal.json(&json!({
            "home": context.home.dir,
            "database": location,
            "database_from": context.home.location_origin.to_string(),
            "workspace": context.home.workspace.as_str(),
            "workspace_from": context.home.workspace_origin.to_string(),
            "store_id": brain.store().identity(),
            "config_written": wrote_config,
        }));
        return Ok(Exit::Pass);
    }
    let config = if wrote_config { "written" } else { "already there, left alone" };
    context.terminal.line(format!("home       {}", context.home.dir.display()));
    context
        .terminal
        .line(format!("config     {} ({config})", context.home.config_path().display()));
    context.terminal.line(format!("database   {location} (from {})", context.home.location_origin));
    context.terminal.line(format!(
        "workspace  {} (from {})",
        context.home.workspace, context.home.workspace_origin
    ));
    context.terminal.remark("next: gbrain import PATH");
    Ok(Exit::Pass)
}
