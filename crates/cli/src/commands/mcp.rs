//! `gbrain mcp`: MCP on standard input and output.

use clap::Args;
use gbrain_core::access::Scope;
use gbrain_server::{Audit, Stdio, Visitor};

use crate::commands::Context;
use crate::commands::serve::sizes;
use crate::error::{CliError, Exit};
use crate::models::models;
use crate::serving::{LogArgs, house};

/// The longest message: a page and what goes around it.
const MAX_MESSAGE: usize = 16 << 20;

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(
    after_help = "Add it to an MCP client:\n  { \"mcpServers\": { \"gbrain\": { \"command\": \"gbrain\", \"args\": [\"mcp\"] } } }\n\n\
    The client is an agent, not you: it sees no private page, and what it asks is captured as remote. \
    A server that is running already serves MCP at /mcp."
)]
pub(crate) struct McpArgs {
    /// Tools that read only: nothing can be written or deleted.
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// Serves one client until it goes.
pub(crate) fn run(context: &Context<'_>, args: &McpArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let house = house(context, &args.log, models(&context.home)?)?;
    let scope = if args.read_only { Scope::Read } else { Scope::Write };
    let visitor = Visitor::local(context.home.workspace.clone(), scope, "stdio");
    let audit = Audit { dir: context.home.audit_dir() };
    let stdio = Stdio { house, visitor, sizes: sizes(None, 64), audit, max_message: MAX_MESSAGE };
    let drained = gbrain_server::serve_stdio(stdio)?;
    if drained.unfinished > 0 {
        context.terminal.warn(format!("{} capture(s) were not stored in time", drained.unfinished));
    }
    Ok(Exit::Pass)
}
