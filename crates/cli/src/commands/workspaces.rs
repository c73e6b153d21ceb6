//! `gbrain workspaces`: the workspaces (tenants) of a database.

use clap::{Args, Subcommand};
use gbrain_brain::wire::{ObjectChange, WorkspaceChanged, WorkspacesBody};
use gbrain_core::id::WorkspaceId;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain workspaces add team-a\n  gbrain --workspace team-a import notes/\n  \
    gbrain workspaces remove team-a --yes"
)]
pub(crate) struct WorkspacesArgs {
    #[command(subcommand)]
    command: WorkspacesCommand,
}

#[derive(Debug, Subcommand)]
enum WorkspacesCommand {
    /// List the workspaces with their sizes.
    List,
    /// Create an empty workspace.
    Add {
        /// Its name: lower-case letters, digits, hyphens.
        name: String,
    },
    /// Erase a workspace with everything in it.
    Remove {
        /// The name of the workspace.
        name: String,
        /// Confirm that everything in it is erased permanently.
        #[arg(long)]
        yes: bool,
    },
}

/// Lists, makes or erases.
pub(crate) fn run(context: &CommandContext<'_>, args: &WorkspacesArgs) -> Result<Exit, CliError> {
    match &args.command {
        WorkspacesCommand::List => list(context)?,
        WorkspacesCommand::Add { name } => {
            let id = WorkspaceId::new(name)?;
            context.store()?.add_workspace(&id, context.now)?;
            say(context, &id, ObjectChange::Added);
        }
        WorkspacesCommand::Remove { name, yes } => {
            let id = WorkspaceId::new(name)?;
            if !yes {
                return Err(CliError::usage(format!(
                    "workspace `{id}` would be erased with everything in it"
                ))
                .hint("say --yes if that is what you want"));
            }
            let store = context.store()?;
            store.remove_workspace(&id)?;
            gbrain_brain::remove_index(&context.home.index_dir(), store.identity(), &id)?;
            say(context, &id, ObjectChange::Removed);
        }
    }
    Ok(Exit::Pass)
}

fn say(context: &CommandContext<'_>, id: &WorkspaceId, outcome: ObjectChange) {
    if context.terminal.is_json() {
        context.terminal.json(&WorkspaceChanged { workspace: id, outcome });
    } else {
        context.terminal.line(format!("{id} {outcome}"));
    }
}

fn list(context: &CommandContext<'_>) -> Result<(), CliError> {
    let workspaces = context.store()?.workspaces()?;
    if context.terminal.is_json() {
        context.terminal.json(&WorkspacesBody { workspaces: &workspaces });
        return Ok(());
    }
    let rows = workspaces.iter().map(|workspace| {
        let head = &workspace.head;
        vec![
            workspace.id.to_string(),
            head.pages.to_string(),
            head.chunks.to_string(),
            head.root.short(),
        ]
    });
    context.terminal.out_paged(table(&["workspace", "pages", "chunks", "root"], rows));
    Ok(())
}
