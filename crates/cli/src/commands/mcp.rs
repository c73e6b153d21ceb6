//! `gbrain mcp`: MCP on standard input and output.

use clap::Args;
use gbrain_core::access::Scope;
use gbrain_server::{Audit, Principal, StdioOptions};

use crate::commands::CommandContext;
use crate::commands::serve::queue_limits;
use crate::error::{CliError, Exit};
use crate::models::configured_embedder;
use crate::serving::{LoggingArgs, registry};
use crate::terminal::count;

/// The longest message: a page and what goes around it.
const MAX_MESSAGE: usize = 16 << 20;

#[derive(Debug, Args)]
#[command(
    after_help = "Add it to an MCP client:\n  { \"mcpServers\": { \"gbrain\": { \"command\": \"gbrain\", \"args\": [\"mcp\"] } } }\n\n\
    The client is an agent, not you: it sees no private page, and its queries are captured as remote. A \
    running server also serves MCP at /mcp."
)]
pub(crate) struct McpArgs {
    /// Tools that read only: nothing can be written or deleted.
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Serves one client until it goes.
pub(crate) fn run(context: &CommandContext<'_>, args: &McpArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let registry = registry(context, &args.log, configured_embedder(&context.home)?)?;
    let scope = if args.read_only { Scope::Read } else { Scope::Write };
    let principal = Principal::local(context.home.workspace.clone(), scope, "stdio");
    let audit = Audit { dir: context.home.audit_dir() };
    let stdio = StdioOptions {
        registry,
        principal,
        queue_limits: queue_limits(None, 64),
        audit,
        max_message: MAX_MESSAGE,
    };
    let drained = gbrain_server::serve_stdio(stdio)?;
    if drained.unfinished > 0 {
        let captures = count(drained.unfinished, "capture was", "captures were");
        context.terminal.warn(format!("{captures} not stored in time"));
    }
    Ok(Exit::Pass)
}
