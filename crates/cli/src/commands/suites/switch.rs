//! `gbrain suites enable` and `disable`.

use clap::Args;
use gbrain_store::Store;
use serde_json::json;

use super::SuiteSource;
use super::create::register;
use super::file::{ResolvedSuite, meant, tell_unknown_target, workspaces_of};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

/// Arguments of `suites enable` and `disable`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain suites enable weekly\n\n\
    Enabling registers the suite as defined in its file. Its triggers start at this moment: earlier \
    events cause no run. A suite for every workspace (workspace: \"*\") is enabled or disabled in all of them.")]
pub(super) struct SwitchArgs {
    /// The name of the suite.
    name: String,
}

/// Switches a suite on.
pub(super) fn enable(
    context: &CommandContext<'_>,
    args: &SwitchArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let file = source.read()?;
    let meant = meant(context, &store, file.as_ref(), &args.name)?;
    register(context, &store, file.as_ref(), &meant)?;
    tell_unknown_target(context, file.as_ref(), &meant);
    each(context, &store, &meant, true, &|workspace| {
        gbrain_eval::suite::enable(&store, workspace, &args.name, context.now)
    })
}

/// Switches a suite off.
pub(super) fn disable(context: &CommandContext<'_>, args: &SwitchArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let meant = meant(context, &store, None, &args.name)?;
    each(context, &store, &meant, false, &|workspace| {
        store.disable_suite(workspace, &args.name, context.now)
    })
}

fn each(
    context: &CommandContext<'_>,
    store: &Store,
    meant: &ResolvedSuite,
    is_on: bool,
    set_enabled: &dyn Fn(&gbrain_core::id::WorkspaceId) -> Result<bool, gbrain_store::StoreError>,
) -> Result<Exit, CliError> {
    let mut switched = Vec::new();
    for workspace in workspaces_of(store, meant)? {
        if set_enabled(&workspace)? {
            switched.push(workspace.to_string());
        }
    }
    let name = &meant.entry.name;
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "suite": name, "enabled": is_on, "workspaces": switched }));
    } else {
        let word = if is_on { "on" } else { "off" };
        context.terminal.line(format!("{name}: {word} in {}", switched.join(", ")));
    }
    Ok(Exit::Pass)
}
