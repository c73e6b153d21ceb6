//! `gbrain view`: a result, baseline, run or file of captures as a web page.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use gbrain_core::fault::FaultKind;
use gbrain_eval::{check_outputs, read_document};
use gbrain_server::serve_document;

use crate::commands::CommandContext;
use crate::commands::html::{parsed, write_page};
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain eval gate --baseline mine.baseline.ndjson --json > gate.json; gbrain view gate.json --open\n  \
    gbrain view ~/.gbrain/baselines/mine.baseline.ndjson\n  \
    gbrain view longmemeval.json.gz --html longmemeval.html --all-rows\n\n\
    Takes what `eval gate`, `eval replay` and `eval compare` print with --json, a run of a suite, the result of a \
    benchmark, a baseline, captures, and saved runs (TREC lines or NDJSON rows); `.gz` is unpacked. Nothing but the \
    file is read, and only this machine is served, until Ctrl-C."
)]
pub(crate) struct ViewArgs {
    /// The file to view.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Open the page in the browser.
    #[arg(long, conflicts_with = "html")]
    open: bool,
    /// Write the page to this file instead of serving it.
    #[arg(long, value_name = "OUT", conflicts_with = "listen")]
    html: Option<PathBuf>,
    /// Put every case into the file, not the worst 200 alone.
    #[arg(long, requires = "html")]
    all_rows: bool,
    /// The address to listen on, of this machine; port 0 takes a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

/// Serves the page of a file, or writes it.
pub(crate) fn run(context: &CommandContext<'_>, args: &ViewArgs) -> Result<Exit, CliError> {
    check_outputs([&args.html])?;
    if !args.listen.ip().is_loopback() {
        return Err(CliError::usage("a file is shown on this machine alone").hint(
            "listen on 127.0.0.1 or [::1], or write the page with --html OUT and share that",
        ));
    }
    let bytes = read_document(&args.file)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CliError::new(FaultKind::Input, format!("{} is not UTF-8", args.file.display()))
    })?;
    let report = parsed(text).map_err(|error| {
        CliError::new(FaultKind::Input, format!("{}: {}", args.file.display(), error.message))
    })?;
    if let Some(path) = &args.html {
        write_page(path, &report, args.all_rows)?;
        return Ok(Exit::Pass);
    }
    serve_document(report, args.listen, |address| {
        let url = format!("http://{address}/");
        context.terminal.line(&url);
        context.terminal.remark("Ctrl-C ends it");
        if args.open && !opened(&url) {
            context.terminal.warn("no browser could be started: open the address above");
        }
    })?;
    Ok(Exit::Pass)
}

/// Starts the browser of the system.
fn opened(url: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(Path::new(program));
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .is_ok()
}
