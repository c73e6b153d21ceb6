//! `gbrain tokens`: who may come over a wire.

use clap::{Args, Subcommand};
use gbrain_core::access::{Scope, token_name};
use gbrain_core::fault::FaultKind;
use gbrain_server::{Audit, Event};
use gbrain_store::{NewToken, Store, Token, TokenDigest};
use serde::Serialize;

use crate::commands::Context;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::serving::{make_token_key, token_key};
use crate::terminal::{json_text, table};

/// Arguments of `tokens`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain tokens create --name ci --scope read\n  \
    gbrain --workspace team-a tokens create --name agent --scope write --expires 90d\n  \
    gbrain tokens list\n  gbrain tokens revoke 3f9c1e0b7a52\n\n\
    A token is shown once, when it is made: the database keeps a keyed hash of it. The key is \
    token.key in the home; a server on another machine needs the same one (GBRAIN_TOKEN_KEY). A \
    token opens one workspace: read asks and reads, write also changes pages and runs jobs, admin \
    also sees captures and baselines. Private pages are not opened by any. A token that could not be \
    printed is revoked.")]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token and show it once.
    Create {
        /// What people call it.
        #[arg(long, value_name = "TEXT")]
        name: String,
        /// What it lets its bearer do: read, write or admin.
        #[arg(long, value_name = "SCOPE", default_value = "read")]
        scope: Scope,
        /// When it ends by itself: 90d, 12h [default: never].
        #[arg(long, value_name = "DUR")]
        expires: Option<String>,
        /// Requests per second; twice as many at once.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        rate: u32,
    },
    /// List the tokens of the workspace.
    List,
    /// End a token. Servers know within a second.
    Revoke {
        /// Its id: the part after `gbt_`.
        id: String,
    },
}

/// Makes, lists or ends.
pub(crate) fn run(context: &Context<'_>, args: &TokensArgs) -> Result<Exit, CliError> {
    match &args.action {
        Action::Create { name, scope, expires, rate } => {
            create(context, name, *scope, expires.as_deref(), *rate)
        }
        Action::List => list(context),
        Action::Revoke { id } => revoke(context, id),
    }
}

fn create(
    context: &Context<'_>,
    name: &str,
    scope: Scope,
    expires: Option<&str>,
    rate: u32,
) -> Result<Exit, CliError> {
    let name = token_name(name).map_err(|error| CliError::usage(error.to_string()))?;
    let expires_at = match expires {
        None => None,
        Some(text) => {
            let after = duration(text).map_err(CliError::usage)?;
            let end = context.now.checked_add(after);
            Some(end.map_err(|_| CliError::usage(format!("{text:?} lies beyond the end of time")))?)
        }
    };
    let store = context.store()?;
    let workspace = &context.home.workspace;
    let minted = make_token_key(&context.home)?
        .mint()
        .map_err(|error| CliError::config(error.to_string()))?;
    let token = NewToken {
        id: minted.id.clone(),
        name: name.to_owned(),
        scope,
        digest: TokenDigest(minted.digest),
        rate_per_second: rate,
        expires_at,
    };
    store.add_token(workspace, &token, context.now)?;
    note(context, "create_token", &minted.id);
    let body = MintedBody {
        token: minted.token,
        id: minted.id,
        name: name.to_owned(),
        workspace: workspace.to_string(),
        scope: scope.name(),
        rate_per_second: rate,
        expires_at: expires_at.map(|at| format!("{at:.3}")),
    };
    show_once(context, &store, &body)?;
    if !context.terminal.is_json() {
        context.terminal.remark(format!(
            "token {} ({}, {} in workspace {}); it is not shown again",
            body.id, body.name, body.scope, body.workspace
        ));
    }
    Ok(Exit::Pass)
}

/// Prints a new token. One that could not be printed is lost, to a closed pipe too, and is revoked: a token that works
/// and that its owner never saw is a risk without a use.
fn show_once(context: &Context<'_>, store: &Store, body: &MintedBody) -> Result<(), CliError> {
    let text = match context.terminal.is_json() {
        true => json_text(body),
        false => format!("{}\n", body.token),
    };
    let Err(error) = context.terminal.try_out(text) else { return Ok(()) };
    let lost = format!("token {} could not be printed: {error}", body.id);
    match store.revoke_token(&context.home.workspace, &body.id, context.now) {
        Ok(_) => {
            note(context, "revoke_token", &body.id);
            Err(CliError::new(FaultKind::Io, format!("{lost}; it was revoked"))
                .hint("create another one when stdout can be written"))
        }
        Err(refusal) => {
            Err(CliError::new(FaultKind::Io, format!("{lost}; revoking it failed: {refusal}"))
                .hint(format!("end it with `gbrain tokens revoke {}`", body.id)))
        }
    }
}

fn list(context: &Context<'_>) -> Result<Exit, CliError> {
    let tokens = context.store()?.tokens(&context.home.workspace)?;
    let tokens: Vec<TokenBody> = tokens.iter().map(|token| shown(token, context.now)).collect();
    if context.terminal.is_json() {
        context.terminal.json(&TokensBody { tokens });
        return Ok(Exit::Pass);
    }
    let has_live = tokens.iter().any(|token| token.state == "live");
    let rows = tokens.into_iter().map(|token| {
        let used = token.last_used_at.unwrap_or_else(|| "never".to_owned());
        vec![
            token.id,
            token.name,
            token.scope.to_owned(),
            token.state.to_owned(),
            token.created_at,
            used,
        ]
    });
    context.terminal.out(table(&["token", "name", "scope", "state", "made", "last used"], rows));
    if has_live && token_key(&context.home)?.is_none() {
        context.terminal.warn(
            "there are tokens and no key here: a server on this machine can't let anybody in; bring \
             token.key from the machine on which they were made, or set GBRAIN_TOKEN_KEY",
        );
    }
    Ok(Exit::Pass)
}

/// A token, without its secret.
#[derive(Debug, Serialize)]
struct TokenBody {
    /// The part of it that is no secret.
    id: String,
    /// What people call it.
    name: String,
    /// The workspace it opens.
    workspace: String,
    /// read, write or admin.
    scope: &'static str,
    /// Requests per second.
    rate_per_second: u32,
    /// live, revoked or expired.
    state: &'static str,
    /// When it was made.
    created_at: String,
    /// When it ends by itself.
    expires_at: Option<String>,
    /// When somebody ended it.
    revoked_at: Option<String>,
    /// When it was last seen.
    last_used_at: Option<String>,
}

/// The tokens of a workspace.
#[derive(Debug, Serialize)]
struct TokensBody {
    /// The tokens, oldest first.
    tokens: Vec<TokenBody>,
}

/// A token that was just made: the only time that it is shown.
#[derive(Debug, Serialize)]
struct MintedBody {
    /// The whole token.
    token: String,
    /// The part of it that is no secret.
    id: String,
    /// What people call it.
    name: String,
    /// The workspace it opens.
    workspace: String,
    /// read, write or admin.
    scope: &'static str,
    /// Requests per second.
    rate_per_second: u32,
    /// When it ends by itself.
    expires_at: Option<String>,
}

fn shown(token: &Token, now: jiff::Timestamp) -> TokenBody {
    let state = match (token.revoked_at, token.is_live(now)) {
        (Some(_), _) => "revoked",
        (None, false) => "expired",
        (None, true) => "live",
    };
    let Token {
        workspace,
        id,
        name,
        scope,
        digest: _,
        rate_per_second,
        created_at,
        expires_at,
        revoked_at,
        last_used_at,
    } = token;
    let time = |at: &jiff::Timestamp| format!("{at:.3}");
    TokenBody {
        id: id.clone(),
        name: name.clone(),
        workspace: workspace.to_string(),
        scope: scope.name(),
        rate_per_second: *rate_per_second,
        state,
        created_at: time(created_at),
        expires_at: expires_at.as_ref().map(time),
        revoked_at: revoked_at.as_ref().map(time),
        last_used_at: last_used_at.as_ref().map(time),
    }
}

fn revoke(context: &Context<'_>, id: &str) -> Result<Exit, CliError> {
    // Whoever pastes a whole token means its id.
    let id = id.strip_prefix("gbt_").unwrap_or(id);
    let id = id.split('_').next().unwrap_or(id);
    let store = context.store()?;
    if !store.revoke_token(&context.home.workspace, id, context.now)? {
        return Err(CliError::not_found(format!(
            "there is no live token `{id}` in this workspace"
        ))
        .hint("`gbrain tokens list` lists them"));
    }
    note(context, "revoke_token", id);
    if context.terminal.is_json() {
        context.terminal.json(&serde_json::json!({ "id": id, "outcome": "revoked" }));
    } else {
        context.terminal.line(format!("{id} revoked"));
    }
    Ok(Exit::Pass)
}

fn note(context: &Context<'_>, action: &str, id: &str) {
    let audit = Audit { dir: context.home.audit_dir() };
    let event = Event {
        action: action.to_owned(),
        workspace: Some(context.home.workspace.to_string()),
        by: "command line".to_owned(),
        token_id: Some(id.to_owned()),
        peer: None,
        target: None,
        outcome: "done".to_owned(),
        request_id: None,
    };
    audit.write(&event, context.now);
}
