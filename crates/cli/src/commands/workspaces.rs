//! `gbrain workspaces`: whose brains are in this database.

use clap::{Args, Subcommand};
use gbrain_brain::wire::{Change, WorkspaceChanged, WorkspacesBody};
use gbrain_core::id::WorkspaceId;

use crate::commands::Context;
use crate::error::{CliError, Exit};
use crate::terminal::table;

/// Arguments of `workspaces`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain workspaces add team-a\n  gbrain --workspace team-a import notes/\n  \
    gbrain workspaces remove team-a --yes"
)]
pub(crate) struct WorkspacesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the workspaces.
    List,
    /// Make a workspace.
    Add {
        /// Its name: lower-case letters, digits, hyphens.
        name: String,
    },
    /// Erase a workspace with everything in it.
    Remove {
        /// Its name.
        name: String,
        /// Yes, for good.
        #[arg(long)]
        yes: bool,
    },
}

/// Lists, makes or erases.
pub(crate) fn run(context: &Context<'_>, args: &WorkspacesArgs) -> Result<Exit, CliError> {
    match &args.action {
        Action::List => list(context)?,
        Action::Add { name } => {
            let id = WorkspaceId::new(name)?;
            context.store()?.add_workspace(&id, context.now)?;
            say(context, &id, Change::Added);
        }
        Action::Remove { name, yes } => {
            let id = WorkspaceId::new(name)?;
            if !yes {
                return Err(CliError::usage(format!(
                    "workspace `{id}` would be erased with everything in it"
                ))
                .hint("say --yes if that is what you want"));
            }
            let store = context.store()?;
            store.remove_workspace(&id)?;
            gbrain_brain::forget_index(&context.home.index_dir(), store.identity(), &id)?;
            say(context, &id, Change::Removed);
        }
    }
    Ok(Exit::Pass)
}

fn say(context: &Context<'_>, id: &WorkspaceId, outcome: Change) {
    if context.terminal.is_json() {
        context.terminal.json(&WorkspaceChanged { workspace: id, outcome });
    } else {
        context.terminal.line(format!("{id} {outcome}"));
    }
}

fn list(context: &Context<'_>) -> Result<(), CliError> {
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
    context.terminal.out(table(&["workspace", "pages", "chunks", "root"], rows));
    Ok(())
}
