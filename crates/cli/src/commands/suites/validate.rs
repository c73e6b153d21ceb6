//! `gbrain suites validate`.

use std::collections::BTreeSet;

use gbrain_core::format::suite::problems;
use serde_json::json;

use super::SuiteSource;
use crate::commands::Context;
use crate::error::{CliError, Exit};

/// Says everything that is wrong with the file.
pub(super) fn run(context: &Context<'_>, source: &SuiteSource) -> Result<Exit, CliError> {
    let shown = source.path.display();
    let text = source.text()?.ok_or_else(|| {
        CliError::new("input", format!("there is no file {shown}"))
            .hint("`gbrain suites create --help` shows how to make one")
    })?;
    let targets: BTreeSet<String> = context.home.targets.keys().cloned().collect();
    let channels: BTreeSet<String> = context.home.channels.keys().cloned().collect();
    let found = problems(&text, &targets, &channels);
    if context.terminal.is_json() {
        let list: Vec<_> =
            found.iter().map(|one| json!({ "line": one.line, "message": one.message })).collect();
        let file = shown.to_string();
        context
            .terminal
            .json(&json!({ "file": file, "valid": found.is_empty(), "problems": list }));
    } else if found.is_empty() {
        context.terminal.line(format!("{shown}: all is well"));
    } else {
        for one in &found {
            context.terminal.line(format!("{shown}:{}: {}", one.line, one.message));
        }
    }
    Ok(if found.is_empty() { Exit::Pass } else { Exit::Fail })
}
