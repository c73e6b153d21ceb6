//! `eva edit`: open a file of a prompt in an editor.

use std::process::Command;

use clap::{Args, ValueEnum};
use gbrain_prompts::domain::PromptStatus;
use gbrain_prompts::{Library, LibraryPrompt, PromptAssessment, PromptError, day};
use serde_json::json;

use super::{EvaContext, variable};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva edit greet\n  eva edit greet meta.yml\n  eva edit greet eval.yml\n\n\
    The editor is $VISUAL, $EDITOR or vi. A change sets `updated` in meta.yml to today."
)]
pub(super) struct EditArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// The file to edit [default: the template, prompt.xml or prompt.md].
    file: Option<PromptFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PromptFile {
    #[value(name = "prompt.xml")]
    Xml,
    #[value(name = "prompt.md")]
    Markdown,
    #[value(name = "meta.yml")]
    Meta,
    #[value(name = "eval.yml")]
    Eval,
    #[value(name = "guard.sh")]
    Guard,
    #[value(name = "verify.sh")]
    Verify,
    Aliases,
}

pub(super) fn run(context: &EvaContext<'_>, args: &EditArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let path = match args.file.and_then(|file| file.to_possible_value()) {
        Some(file) => prompt.file(file.get_name()),
        None => prompt.template.path.clone(),
    };
    let before = std::fs::read(&path).ok();
    let editor =
        ["VISUAL", "EDITOR"].into_iter().find_map(variable).unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&path).status();
    let status = status.map_err(|error| CliError::io(program, &error))?;
    if !status.success() {
        return Err(CliError::usage(format!(
            "`{editor}` ended with {status}: `updated` was not changed"
        )));
    }
    let is_changed = std::fs::read(&path).ok() != before;
    if is_changed {
        bump(context, &prompt)?;
    }
    print_result(context, &library, &prompt.dir, is_changed)
}

fn bump(context: &EvaContext<'_>, prompt: &LibraryPrompt) -> Result<(), CliError> {
    match prompt.update_meta(&[("updated", &day(context.now))]) {
        Ok(()) => Ok(()),
        Err(error @ PromptError::Edit { .. }) => {
            context.terminal.warn(error.to_string());
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Prints whether the edit made the evidence stale.
fn print_result(
    context: &EvaContext<'_>,
    library: &Library,
    dir: &std::path::Path,
    is_changed: bool,
) -> Result<Exit, CliError> {
    let prompt = LibraryPrompt::read(dir.to_owned())?;
    let stale = PromptAssessment::read(library, &prompt)?.stale;
    if context.terminal.is_json() {
        let stale = stale.as_ref().map(ToString::to_string);
        context.terminal.json(&json!({ "id": prompt.id, "changed": is_changed, "stale": stale }));
    }
    match stale {
        Some(stale) if is_changed => {
            context.terminal.warn(format!("the evidence is stale: {stale}"))
        }
        None if is_changed && prompt.meta.status == PromptStatus::Ready => {
            context.terminal.warn("this prompt is ready: bump its version if its meaning changed");
        }
        _ => (),
    }
    Ok(Exit::Pass)
}
