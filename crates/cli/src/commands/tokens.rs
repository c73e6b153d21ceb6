//! `gbrain tokens`: API tokens.

use clap::{Args, Subcommand};
use gbrain_core::access::{Scope, token_name};
use gbrain_core::fault::FaultKind;
use gbrain_server::{Audit, AuditEvent};
use gbrain_store::{ApiToken, NewToken, Store, TokenDigest};
use serde::Serialize;

use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::serving::{make_token_key, token_key};
use crate::terminal::{json_text, local_time_of, table};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain tokens create --name ci --scope read\n  \
    gbrain --workspace team-a tokens create --name agent --scope write --expires 90d\n  \
    gbrain tokens list\n  gbrain tokens revoke 3f9c1e0b7a52\n  gbrain tokens revoke ci\n\n\
    A token is shown once, when it is made: the database keeps a keyed hash of it. The key is \
    token.key in the home; a server on another machine needs the same one (GBRAIN_TOKEN_KEY). A \
    token opens one workspace: read asks and reads, write also changes pages and runs jobs, admin \
    also sees captures and baselines. Private pages are not opened by any. A token that could not be \
    printed is revoked.")]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    command: TokensCommand,
}

#[derive(Debug, Subcommand)]
enum TokensCommand {
    /// Create a token and show it once.
    Create {
        /// A name for people.
        #[arg(long, value_name = "TEXT")]
        name: String,
        /// The permission of its bearer: read, write or admin.
        #[arg(long, value_name = "SCOPE", default_value = "read")]
        scope: Scope,
        /// When it expires: 90d, 12h [default: never].
        #[arg(long, value_name = "DUR")]
        expires: Option<String>,
        /// Rate limit in requests per second; bursts may be twice as large.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        rate: u32,
    },
    /// List the tokens of the workspace.
    List,
    /// Revoke a token. Servers reject it within a second.
    Revoke {
        /// The token's id (the part after `gbt_`) or its name, if only one live token has that name.
        #[arg(value_name = "ID|NAME")]
        id: String,
    },
}

/// Creates, lists or revokes tokens.
pub(crate) fn run(context: &CommandContext<'_>, args: &TokensArgs) -> Result<Exit, CliError> {
    match &args.command {
        TokensCommand::Create { name, scope, expires, rate } => {
            create(context, name, *scope, expires.as_deref(), *rate)
        }
        TokensCommand::List => list(context),
        TokensCommand::Revoke { id } => revoke(context, id),
    }
}

fn create(
    context: &CommandContext<'_>,
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
            Some(end.map_err(|_| CliError::usage(format!("--expires {text:?} is too long")))?)
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
fn show_once(
    context: &CommandContext<'_>,
    store: &Store,
    body: &MintedBody,
) -> Result<(), CliError> {
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
                .hint(format!("revoke it with `gbrain tokens revoke {}`", body.id)))
        }
    }
}

fn list(context: &CommandContext<'_>) -> Result<Exit, CliError> {
    let tokens = context.store()?.tokens(&context.home.workspace)?;
    let tokens: Vec<TokenBody> = tokens.iter().map(|token| shown(token, context.now)).collect();
    if context.terminal.is_json() {
        context.terminal.json(&TokensBody { tokens });
        return Ok(Exit::Pass);
    }
    let has_live = tokens.iter().any(|token| token.state == "live");
    let rows = tokens.into_iter().map(|token| {
        let used = token.last_used_at.as_deref().map_or_else(|| "never".to_owned(), local_time_of);
        vec![
            token.id,
            token.name,
            token.scope.to_owned(),
            token.state.to_owned(),
            local_time_of(&token.created_at),
            used,
        ]
    });
    context
        .terminal
        .out_paged(table(&["token", "name", "scope", "state", "created", "last used"], rows));
    if has_live && token_key(&context.home)?.is_none() {
        context.terminal.warn(
            "there are tokens but no key here: a server on this machine rejects every token; copy \
             token.key from the machine on which they were created, or set GBRAIN_TOKEN_KEY",
        );
    }
    Ok(Exit::Pass)
}

/// A token, without its secret.
#[derive(Debug, Serialize)]
struct TokenBody {
    /// The part of it that is no secret.
    id: String,
    /// The name that people gave it.
    name: String,
    /// The workspace it opens.
    workspace: String,
    /// read, write or admin.
    scope: &'static str,
    /// The rate limit in requests per second.
    rate_per_second: u32,
    /// live, revoked or expired.
    state: &'static str,
    /// When it was made.
    created_at: String,
    /// When it ends by itself.
    expires_at: Option<String>,
    /// When it was revoked.
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
    /// The whole token, with its secret.
    token: String,
    /// The part of it that is no secret.
    id: String,
    /// The name that people gave it.
    name: String,
    /// The workspace it opens.
    workspace: String,
    /// read, write or admin.
    scope: &'static str,
    /// The rate limit in requests per second.
    rate_per_second: u32,
    /// When it ends by itself.
    expires_at: Option<String>,
}

fn shown(token: &ApiToken, now: jiff::Timestamp) -> TokenBody {
    let state = match (token.revoked_at, token.is_live(now)) {
        (Some(_), _) => "revoked",
        (None, false) => "expired",
        (None, true) => "live",
    };
    let ApiToken {
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

fn revoke(context: &CommandContext<'_>, id: &str) -> Result<Exit, CliError> {
    let store = context.store()?;
    let id = &live_token(context, &store, id)?;
    if !store.revoke_token(&context.home.workspace, id, context.now)? {
        return Err(no_live_token(id));
    }
    note(context, "revoke_token", id);
    if context.terminal.is_json() {
        context.terminal.json(&serde_json::json!({ "id": id, "outcome": "revoked" }));
    } else {
        context.terminal.line(format!("{id} revoked"));
    }
    Ok(Exit::Pass)
}

/// The id of the live token that was typed: its id, the whole token, or its name.
fn live_token(
    context: &CommandContext<'_>,
    store: &Store,
    typed: &str,
) -> Result<String, CliError> {
    let tokens = store.tokens(&context.home.workspace)?;
    let live: Vec<&ApiToken> = tokens.iter().filter(|token| token.is_live(context.now)).collect();
    // A pasted token is `gbt_ID_SECRET`.
    let id = typed.strip_prefix("gbt_").unwrap_or(typed);
    let id = id.split('_').next().unwrap_or(id);
    if live.iter().any(|token| token.id == id) {
        return Ok(id.to_owned());
    }
    let named: Vec<&str> =
        live.iter().filter(|token| token.name == typed).map(|token| token.id.as_str()).collect();
    match named[..] {
        [id] => Ok(id.to_owned()),
        // The secret of a token is not repeated.
        [] => Err(no_live_token(if typed.starts_with("gbt_") { id } else { typed })),
        _ => Err(CliError::usage(format!("{} live tokens are named `{typed}`", named.len()))
            .hint(format!("revoke one by its id: {}", named.join(", ")))),
    }
}

fn no_live_token(id: &str) -> CliError {
    CliError::not_found(format!(
        "there is no live token with the id or name `{id}` in this workspace"
    ))
    .hint("`gbrain tokens list` shows the ids and names")
}

fn note(context: &CommandContext<'_>, action: &str, id: &str) {
    let audit = Audit { dir: context.home.audit_dir() };
    let event = AuditEvent {
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
