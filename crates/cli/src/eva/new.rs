//! `eva new`: create a prompt.

use clap::Args;
use gbrain_prompts::{Library, NewPrompt};
use serde_json::json;

use super::{EvaContext, search_paths};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva new greet\n  eva new greet-v2 --from greet")]
pub(super) struct NewArgs {
    /// The name of the prompt and of its directory.
    id: String,
    /// Copy this prompt; the copy is a draft without runs [default: start from a template].
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// Write the template in Markdown (prompt.md) [default: XML tags in prompt.xml].
    #[arg(long, conflicts_with = "from")]
    md: bool,
}

pub(super) fn run(context: &EvaContext<'_>, args: &NewArgs) -> Result<Exit, CliError> {
    let library = library(context)?;
    let new = NewPrompt { id: args.id.clone(), from: args.from.clone(), is_markdown: args.md };
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

/// The library; if there is none yet, it is created at the named root or in the current directory.
fn library(context: &EvaContext<'_>) -> Result<Library, CliError> {
    let (named, here) = search_paths(context.root)?;
    match Library::find(named.as_deref(), &here) {
        Ok(library) => Ok(library),
        Err(_) => Ok(Library::at(named.as_deref().unwrap_or(&here))?),
    }
}
