//! `eva doctor`: what is wrong with prompts.

use clap::Args;
use gbrain_core::fault::chain;
use gbrain_core::format::prompts::{CheckupBody, FindingBody, PROMPTS_VERSION};
use gbrain_core::prompt::{Level, Parts, Status, check_aliases, checkup};
use gbrain_prompts::{Library, Listed, Prompt, PromptError, summarise};

use super::Context;
use crate::error::{CliError, Exit};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  eva doctor\n  eva doctor greet\n\nEnds with 1 if there is a problem; \
    warnings do not count."
)]
pub(super) struct DoctorArgs {
    /// Only this prompt.
    id: Option<String>,
}

/// Looks.
pub(super) fn run(context: &Context<'_>, args: &DoctorArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let only = match args.id.as_deref().map(|id| library.prompt(id)) {
        None => None,
        Some(Ok(prompt)) => Some(prompt.id),
        Some(Err(error @ (PromptError::NoPrompt(_) | PromptError::Id(_)))) => {
            return Err(error.into());
        }
        // It can't be read, which is what is looked for.
        Some(Err(_)) => args.id.clone(),
    };
    let listed = library.list()?;
    let mut findings: Vec<FindingBody> = listed.iter().flat_map(of_prompt).collect();
    findings.extend(of_aliases(&listed));
    findings.extend(old_layout(&library));
    findings.retain(|finding| only.as_ref().is_none_or(|only| finding.id == *only));
    findings.sort_by(|a, b| (&a.id, b.level).cmp(&(&b.id, a.level)));
    let has_problem = findings.iter().any(|finding| finding.level == Level::Problem);
    let prompts = only.map_or(listed.len(), |_| 1);
    tell(context, CheckupBody { schema_version: PROMPTS_VERSION, prompts, findings });
    Ok(if has_problem { Exit::Fail } else { Exit::Pass })
}

fn of_prompt(listed: &Listed) -> Vec<FindingBody> {
    let finding = |level, message| FindingBody { id: listed.id.clone(), level, message };
    let prompt = match &listed.prompt {
        Ok(prompt) => prompt,
        Err(error) => return vec![finding(Level::Problem, chain(error))],
    };
    match of_readable(prompt) {
        Ok(found) => found.into_iter().map(|(level, message)| finding(level, message)).collect(),
        Err(error) => vec![finding(Level::Problem, chain(&error))],
    }
}

fn of_readable(prompt: &Prompt) -> Result<Vec<(Level, String)>, PromptError> {
    let eval = prompt.eval_text()?;
    let parts = Parts {
        directory: &prompt.id,
        meta: &prompt.meta,
        template: &prompt.template.text,
        eval: eval.as_deref(),
    };
    let mut found: Vec<(Level, String)> =
        checkup(&parts).into_iter().map(|finding| (finding.level, finding.message)).collect();
    found.extend(of_evidence(prompt)?);
    for case in prompt.cases() {
        if let Err(error) = prompt.case(&case) {
            found.push((Level::Problem, chain(&error)));
        }
    }
    let logs = [
        (summarise(&prompt.usage_log(), None)?.malformed, ".usage.jsonl"),
        (prompt.eval_rows()?.1, ".eval.jsonl"),
        (prompt.evidence()?.1, ".promotions.jsonl"),
    ];
    for (count, file) in logs.into_iter().filter(|(count, _)| *count > 0) {
        found.push((Level::Warning, format!("{count} line(s) of {file} are not rows")));
    }
    Ok(found)
}

/// Whether a status rests on something, and on this text.
fn of_evidence(prompt: &Prompt) -> Result<Option<(Level, String)>, PromptError> {
    if let Some(stale) = prompt.stale()? {
        let level =
            if prompt.meta.status == Status::Ready { Level::Problem } else { Level::Warning };
        return Ok(Some((level, format!("the evidence is stale: {stale}"))));
    }
    let (evidence, _) = prompt.evidence()?;
    let rests = evidence.last().is_some_and(|last| last.to == prompt.meta.status);
    let is_bare = prompt.meta.status != Status::Draft && !rests;
    let status = prompt.meta.status;
    Ok(is_bare.then(|| (Level::Warning, format!("`{status}` rests on no evidence that was kept"))))
}

fn of_aliases(listed: &[Listed]) -> Vec<FindingBody> {
    let readable = listed.iter().filter_map(|listed| Some((listed, listed.prompt.as_ref().ok()?)));
    let owned: Vec<(&str, Vec<String>)> = readable
        .map(|(listed, prompt)| (listed.id.as_str(), prompt.aliases().unwrap_or_default()))
        .collect();
    let owners: Vec<(&str, Vec<&str>)> = owned
        .iter()
        .map(|(id, aliases)| (*id, aliases.iter().map(String::as_str).collect()))
        .collect();
    let found = check_aliases(&owners).into_iter();
    found
        .map(|(id, finding)| FindingBody {
            id: id.to_owned(),
            level: finding.level,
            message: finding.message,
        })
        .collect()
}

fn old_layout(library: &Library) -> Vec<FindingBody> {
    let of_status = |status: &Status| {
        let dir = library.prompts().join(status.name());
        let is_old = dir.is_dir() && !dir.join("meta.yml").exists();
        is_old.then(|| FindingBody {
            id: status.name().to_owned(),
            level: Level::Warning,
            message: "a directory of the old layout: `eva migrate` converts it".to_owned(),
        })
    };
    Status::ALL.iter().filter_map(of_status).collect()
}

fn tell(context: &Context<'_>, body: CheckupBody) {
    if context.terminal.is_json() {
        return context.terminal.json(&body);
    }
    for finding in &body.findings {
        context.terminal.line(format!("{}  {}: {}", finding.level, finding.id, finding.message));
    }
    if body.findings.is_empty() {
        context.terminal.line(format!("{} prompt(s), nothing wrong", body.prompts));
    }
}
