//! `eva new`: a prompt to begin with.

use clap::Args;
use gbrain_prompts::{Library, New};
use serde_json::json;

use super::{Context, places};
use crate::error::{CliError, Exit};

/// Arguments of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva new greet\n  eva new greet-v2 --from greet")]
pub(super) struct NewArgs {
    /// Its name, which is its directory's too.
    id: String,
    /// Copy this prompt; the copy is a draft without runs.
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// A template of Markdown (prompt.md) instead of tags (prompt.xml).
    #[arg(long, conflicts_with = "from")]
    md: bool,
}

/// Makes it.
pub(super) fn run(context: &Context<'_>, args: &NewArgs) -> Result<Exit, CliError> {
    let library = library(context)?;
    let new = New { id: args.id.clone(), from: args.from.clone(), is_markdown: args.md };
    let prompt = gbrain_prompts::new(&library, &new, context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "id": prompt.id, "dir": prompt.dir }));
    } else {
        context.terminal.line(prompt.dir.display().to_string());
        let file = prompt.template.path.file_name().unwrap_or_default().to_string_lossy();
        context.terminal.remark(format!("edit {file}, then try it: kick {} --case basic", args.id));
    }
    Ok(Exit::Pass)
}

/// The library, also if this is its first prompt: then it begins here.
fn library(context: &Context<'_>) -> Result<Library, CliError> {
    let (named, here) = places(context.root)?;
    match Library::find(named.as_deref(), &here) {
        Ok(library) => Ok(library),
        Err(_) => Ok(Library::at(named.as_deref().unwrap_or(&here))?),
    }
}
