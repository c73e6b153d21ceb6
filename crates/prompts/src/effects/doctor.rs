//! `eva doctor`: finds problems in prompts.

use gbrain_core::fault::chain;

use super::{Library, LibraryPrompt, PromptAssessment, PromptEntry, PromptError, hook};
use crate::domain::{
    CheckupFinding, CheckupInputs, FindingLevel, check_aliases, check_evidence, check_log, checkup,
    old_layout,
};

/// The findings about all prompts of a library.
#[derive(Debug)]
pub struct Checkup {
    /// The number of checked prompts.
    pub prompts: usize,
    /// Findings with their prompts: by prompt, problems first.
    pub findings: Vec<(String, CheckupFinding)>,
}

impl Checkup {
    /// Whether there is a problem, beyond warnings.
    pub fn has_problem(&self) -> bool {
        self.findings.iter().any(|(_, finding)| finding.level == FindingLevel::Problem)
    }
}

/// Checks every prompt, or one by its name or an alias.
pub fn doctor(library: &Library, only: Option<&str>) -> Result<Checkup, PromptError> {
    let only = only.map(|name| library.id_of(name)).transpose()?;
    let listed = library.list()?;
    let mut findings: Vec<(String, CheckupFinding)> = Vec::new();
    for one in &listed {
        findings.extend(of_prompt(library, one).into_iter().map(|found| (one.id.clone(), found)));
    }
    findings.extend(of_aliases(&listed));
    let old = library.old_layouts().into_iter();
    findings.extend(old.map(|status| (status.to_string(), old_layout())));
    findings.retain(|(id, _)| only.as_ref().is_none_or(|only| id == only));
    findings.sort_by(|(a, x), (b, y)| (a, y.level).cmp(&(b, x.level)));
    Ok(Checkup { prompts: only.map_or(listed.len(), |_| 1), findings })
}

fn of_prompt(library: &Library, listed: &PromptEntry) -> Vec<CheckupFinding> {
    let prompt = match &listed.prompt {
        Ok(prompt) => prompt,
        Err(error) => return vec![problem(error)],
    };
    of_readable(library, prompt).unwrap_or_else(|error| vec![problem(&error)])
}

fn of_readable(
    library: &Library,
    prompt: &LibraryPrompt,
) -> Result<Vec<CheckupFinding>, PromptError> {
    let eval = prompt.eval_text()?;
    let parts = CheckupInputs {
        directory: &prompt.id,
        meta: &prompt.meta,
        template: &prompt.template.text,
        eval: eval.as_deref(),
    };
    let standing = PromptAssessment::read(library, prompt)?;
    let mut found = checkup(&parts);
    found.extend(check_evidence(
        &prompt.id,
        prompt.meta.status,
        standing.missing_evidence.as_ref(),
    ));
    found.extend(check_hooks(prompt));
    let cases = prompt.cases().into_iter().map(|case| prompt.case(&case).err());
    let unreadable = cases.chain([prompt.aliases().err()]).flatten();
    found.extend(unreadable.map(|error| problem(&error)));
    found.extend(standing.malformed.iter().filter_map(|(file, count)| check_log(file, *count)));
    Ok(found)
}

/// Finds hooks that cannot run, or that would be ignored.
fn check_hooks(prompt: &LibraryPrompt) -> Vec<CheckupFinding> {
    let unusable = [hook::check_guard(prompt).err(), hook::check_verifier(prompt).err()];
    let mut found: Vec<CheckupFinding> =
        unusable.into_iter().flatten().map(|error| problem(&error)).collect();
    found.extend(prompt.hooks.ignored.iter().map(|name| CheckupFinding {
        level: FindingLevel::Warning,
        message: format!(
            "{name} is not executable and is not run: chmod +x prompts/{}/{name}",
            prompt.id
        ),
    }));
    found
}

fn of_aliases(listed: &[PromptEntry]) -> Vec<(String, CheckupFinding)> {
    let readable = listed.iter().filter_map(|listed| listed.prompt.as_ref().ok());
    let owned: Vec<(&str, Vec<String>)> =
        readable.map(|prompt| (prompt.id.as_str(), prompt.aliases().unwrap_or_default())).collect();
    let owners: Vec<(&str, Vec<&str>)> = owned
        .iter()
        .map(|(id, aliases)| (*id, aliases.iter().map(String::as_str).collect()))
        .collect();
    let found = check_aliases(&owners).into_iter();
    found.map(|(id, finding)| (id.to_owned(), finding)).collect()
}

fn problem(error: &PromptError) -> CheckupFinding {
    CheckupFinding { level: FindingLevel::Problem, message: chain(error) }
}
