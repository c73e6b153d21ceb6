//! `gbrain suites validate`: checks a suites file.

use std::collections::BTreeSet;

use gbrain_core::fault::FaultKind;
use gbrain_core::format::suite::{Problem, SuiteFile, SuiteFileProblems, check};
use gbrain_eval::suite::drift;
use serde_json::{Value, json};

use super::SuiteSource;
use super::file::take_over;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

/// Says everything that is wrong with the file, and what is odd.
pub(super) fn run(context: &CommandContext<'_>, source: &SuiteSource) -> Result<Exit, CliError> {
    let shown = source.path.display();
    let text = source.text()?.ok_or_else(|| {
        CliError::new(FaultKind::Input, format!("there is no file {shown}"))
            .hint("`gbrain suites create --help` shows how to make one")
    })?;
    let targets: BTreeSet<String> = context.home.targets.keys().cloned().collect();
    let channels: BTreeSet<String> = context.home.channels.keys().cloned().collect();
    let SuiteFileProblems { problems, warnings } = check(&text, &targets, &channels);
    // A file that can't be read as a whole is not compared with the registered suites.
    let drifts = match SuiteFile::parse(&text) {
        Ok(file) => drifts(context, &file),
        Err(_) => Vec::new(),
    };
    if context.terminal.is_json() {
        let wire = |one: &Problem| json!({ "line": one.line, "message": one.message });
        let list: Vec<Value> = problems.iter().map(wire).collect();
        let drifts = drifts.iter().map(|message| json!({ "line": null, "message": message }));
        let warnings: Vec<Value> = warnings.iter().map(wire).chain(drifts).collect();
        context.terminal.json(&json!({
            "file": shown.to_string(), "valid": problems.is_empty(),
            "problems": list, "warnings": warnings,
        }));
        return Ok(verdict(&problems));
    }
    for one in &problems {
        context.terminal.line(format!("{shown}:{}: {}", one.line, one.message));
    }
    for one in &warnings {
        context.terminal.warn(format!("{shown}:{}: {}", one.line, one.message));
    }
    for message in drifts {
        context.terminal.warn(message);
    }
    if problems.is_empty() {
        let what = if warnings.is_empty() { "all is well" } else { "nothing is wrong" };
        context.terminal.line(format!("{shown}: {what}"));
    }
    Ok(verdict(&problems))
}

fn verdict(problems: &[Problem]) -> Exit {
    if problems.is_empty() { Exit::Pass } else { Exit::Fail }
}

/// The registered suites that differ from the file, in every workspace.
fn drifts(context: &CommandContext<'_>, file: &SuiteFile) -> Vec<String> {
    // A file can be checked where no store is.
    let found = || -> Result<Vec<String>, CliError> {
        let store = context.store()?;
        let mut found = Vec::new();
        for workspace in store.workspaces()? {
            for stored in store.suites(&workspace.id)? {
                if let Some(drift) = drift(file, &stored, &workspace.id) {
                    let (name, ws) = (&stored.name, &workspace.id);
                    let what = take_over(name, drift, stored.enabled);
                    found.push(format!(
                        "suite `{name}`, as it is registered in workspace {ws}: {}; {what}",
                        drift.in_words()
                    ));
                }
            }
        }
        Ok(found)
    };
    found().unwrap_or_else(|error| {
        vec![format!("it was not held against what is registered: {}", error.message)]
    })
}
