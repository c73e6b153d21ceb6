//! `gbrain suites remove`: removes a registered suite.

use clap::Args;
use gbrain_core::id::WorkspaceId;
use gbrain_eval::suite::remove;
use gbrain_store::{AlertStatus, Store, StoreError};
use serde_json::json;

use super::SuiteSource;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain suites remove old-weekly\n\n\
    Removes the registered suite and its triggers. Its runs and its entry in the file stay: delete the \
    entry there too. Its firing alerts stay open until `gbrain alerts close`. A suite for \
    every workspace (workspace: \"*\") is removed from all of them.")]
pub(super) struct RemoveArgs {
    /// The name of the suite.
    name: String,
}

/// Takes a suite out of the store.
pub(super) fn run(
    context: &CommandContext<'_>,
    args: &RemoveArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let (store, own, name) = (context.store()?, &context.home.workspace, args.name.as_str());
    let removed = remove(&store, own, name)?.ok_or_else(|| {
        CliError::usage(format!("no suite `{name}` is registered in workspace {own}"))
            .hint("`gbrain suites list` shows those that are")
    })?;
    let mut firing = Vec::new();
    for workspace in &removed {
        firing.extend(alerts(&store, workspace, name)?);
    }
    if context.terminal.is_json() {
        let workspaces: Vec<String> = removed.iter().map(ToString::to_string).collect();
        context
            .terminal
            .json(&json!({ "suite": name, "workspaces": workspaces, "firing": firing }));
    } else {
        let workspaces: Vec<&str> = removed.iter().map(WorkspaceId::as_str).collect();
        context.terminal.line(format!("{name}: removed from {}", workspaces.join(", ")));
    }
    for key in firing {
        context.terminal.warn(format!(
            "{key} still fires, and no run will take it back: `gbrain alerts close {key} --reason TEXT`"
        ));
    }
    let is_described = |workspace: &WorkspaceId| {
        let file = source.read().ok().flatten();
        file.is_some_and(|file| file.find(name, workspace.as_str()).is_some())
    };
    if removed.iter().any(is_described) {
        let path = source.path.display();
        context.terminal.remark(format!(
            "{path} still describes it: `gbrain suites run {name}` runs it until it is taken out there"
        ));
    }
    Ok(Exit::Pass)
}

/// Keys of alerts of a suite that fire.
fn alerts(store: &Store, ws: &WorkspaceId, suite: &str) -> Result<Vec<String>, StoreError> {
    let states = store.alert_board(ws)?.states.into_iter();
    let is_its = |one: &gbrain_store::AlertState| {
        one.state == AlertStatus::Firing && one.suite.as_deref() == Some(suite)
    };
    Ok(states.filter(is_its).map(|one| one.dedup_key).collect())
}
