//! `gbrain alerts silence` and `unsilence`.

use clap::Args;
use gbrain_core::alert::ALERT_VERSION;
use gbrain_core::format::alert::SilenceRecord;
use gbrain_eval::alert::wire;
use gbrain_store::{AlertState, NewSilence, Silence};
use jiff::SignedDuration;
use serde_json::json;

use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain alerts silence gbrain/default/weekly/recall@5/all --for 2h --reason \"known, see #12\"\n  \
    gbrain alerts silence 'gbrain/default/*' --for 30m --reason \"reindexing\"\n\n\
    Alerts are recorded during a silence; only messages are held back. An alert that still fires when the \
    silence ends is sent then. Recovery messages are sent at once."
)]
pub(super) struct SilenceArgs {
    /// A key, or the beginning of keys and a `*`.
    key: String,
    /// The duration of the silence: 30m, 2h.
    #[arg(long = "for", value_name = "DUR", value_parser = duration)]
    how_long: SignedDuration,
    /// The reason, shown with the silence.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain alerts unsilence 3")]
pub(super) struct UnsilenceArgs {
    /// The number of the silence, as `gbrain alerts list` shows it.
    id: i64,
}

pub(super) fn silence(context: &CommandContext<'_>, args: &SilenceArgs) -> Result<Exit, CliError> {
    let SilenceArgs { key, how_long, reason } = args;
    let beginning = key.strip_suffix('*').unwrap_or(key);
    if !"gbrain/".starts_with(beginning) && !beginning.starts_with("gbrain/") {
        return Err(CliError::usage(format!("{key:?} is the beginning of no key")).hint(
            "keys are written gbrain/WORKSPACE/SUITE/WHAT; `gbrain alerts list` shows them",
        ));
    }
    let reason = super::reason(reason)?;
    if !how_long.is_positive() {
        return Err(CliError::usage("--for is zero or negative").hint("write it as 30m or 2h"));
    }
    let store = context.store()?;
    let board = store.alert_board(&context.home.workspace)?;
    let is_meant = |one: &AlertState| match key.strip_suffix('*') {
        Some(beginning) => one.dedup_key.starts_with(beginning),
        None => one.dedup_key == *key,
    };
    if !board.states.iter().any(is_meant) {
        let hint = super::other_workspace_hint(context, beginning);
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        context.terminal.warn(format!(
            "no alert of workspace {} has such a key yet; `gbrain alerts list --all` shows them{hint}",
            context.home.workspace
        ));
    }
    let starts_at = store.clock()?;
    let ends_at =
        starts_at.checked_add(*how_long).map_err(|_| CliError::usage("--for is too long"))?;
    let (key, reason) = (key.clone(), reason.to_owned());
    let record = SilenceRecord { schema_version: ALERT_VERSION, key, reason };
    let body = json!(record).to_string();
    let new = NewSilence { starts_at, ends_at, body: body.clone() };
    let id = store.add_silence(&context.home.workspace, &new)?;
    let shown = wire::silence(&Silence { id, starts_at, ends_at, body });
    if context.terminal.is_json() {
        context.terminal.json(&shown);
    } else {
        context.terminal.line(format!("silence {id}: {} until {}", shown.key, shown.until));
    }
    Ok(Exit::Pass)
}

pub(super) fn unsilence(
    context: &CommandContext<'_>,
    args: &UnsilenceArgs,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let workspace = &context.home.workspace;
    if !store.end_silence(workspace, args.id, store.clock()?)? {
        return Err(CliError::usage(format!(
            "there is no silence {} in workspace {workspace} that is not over",
            args.id
        ))
        .hint("`gbrain alerts list` shows those in force"));
    }
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "id": args.id, "ended": true }));
    } else {
        context.terminal.line(format!("silence {} is over", args.id));
    }
    Ok(Exit::Pass)
}
