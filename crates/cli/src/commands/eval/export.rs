//! `gbrain eval export`: captures as NDJSON, streamed.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use gbrain_brain::capture::private_names;
use gbrain_core::capture::{CLOCK_SKEW, CaptureWindow, StoredCapture, write_line};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Operation;
use gbrain_eval::OutputFile;
use gbrain_store::{CaptureFilter, Store};
use jiff::Timestamp;
use serde_json::Value;

use super::window::moment;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::identity::workspace_key;
use crate::terminal::{ExternalWriter, count};

/// How often a heartbeat is said.
const HEARTBEAT: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval export --since 7d > captured.ndjson\n  \
    gbrain eval export --tool query --limit 200 | jq -c 'select(.latency_ms > 500)'\n  \
    gbrain eval export --since 2026-03-01T00:00:00Z --until 2026-03-02T00:00:00Z\n\n\
    Windows are half-open: --since is in, --until is out. Chain them by the end that is printed: \
    no row is repeated and none is missed. Where clocks are wrong, chain by number: --after-id.")]
pub(crate) struct ExportArgs {
    /// Only rows stored at or after this: a duration before now (7d) or an instant.
    #[arg(long, value_name = "DUR|INSTANT")]
    since: Option<String>,
    /// Only rows stored before this: a duration before now or an instant [default: now].
    #[arg(long, value_name = "DUR|INSTANT")]
    until: Option<String>,
    /// At most this many rows, the newest [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Only rows of this operation: query or search.
    #[arg(long, value_name = "TOOL", value_parser = parse_tool)]
    tool: Option<Operation>,
    /// Only rows of callers over a wire.
    #[arg(long, conflicts_with = "local")]
    remote: bool,
    /// Only rows of local callers.
    #[arg(long)]
    local: bool,
    /// Only rows with a higher number than this: a cursor.
    #[arg(long, value_name = "N")]
    after_id: Option<i64>,
    /// ndjson, or trec (a run with the retrieved pages, one query per row).
    #[arg(long, value_name = "FORMAT", default_value = "ndjson")]
    format: ExportFormat,
    /// Write to this file, whole or not at all, instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Ndjson,
    Trec,
}

pub(super) fn parse_tool(text: &str) -> Result<Operation, String> {
    Operation::from_name(text).ok_or_else(|| "query or search".to_owned())
}

/// Streams captures to stdout.
pub(super) fn run(context: &CommandContext<'_>, args: &ExportArgs) -> Result<Exit, CliError> {
    let CaptureWindow { since, until } = window(context, args)?;
    let filter = CaptureFilter {
        since,
        until: Some(until),
        tool: args.tool,
        remote: if args.remote { Some(true) } else { args.local.then_some(false) },
        after_id: args.after_id,
        limit: args.limit,
        ..CaptureFilter::default()
    };
    let store = context.store()?;
    let ws = &context.home.workspace;
    // From here on no row can appear in the window: what is read is final.
    store.close_captures(ws, until)?;
    let out = match args.output.as_deref() {
        None => Out::Stdout(context.terminal.stdout()),
        Some(path) => Out::File(Box::new(OutputFile::create(path)?)),
    };
    let mut sink = ExportWriter::new(context, args.format, out);
    let private = private_names(&store, ws, workspace_key(&context.home)?)?;
    store.captures(ws, &filter, &mut |mut row| {
        private.mask(&mut row);
        Ok(sink.take(&row))
    })?;
    let is_whole = sink.finish()?;
    let exported = sink.rows;
    sink.close(is_whole)?;
    context.terminal.remark(format!("exported {} stored before {until:.3}", rows(exported)));
    warn_of_future_rows(context, &store, ws)?;
    if is_whole && args.limit.is_some_and(|limit| exported >= limit) {
        let all = CaptureFilter { limit: None, ..filter };
        let left = store.count_captures(ws, &all)?.saturating_sub(exported);
        context.terminal.remark(format!("--limit left out {left} more from the window"));
    }
    Ok(Exit::Pass)
}

fn window(context: &CommandContext<'_>, args: &ExportArgs) -> Result<CaptureWindow, CliError> {
    let at = |text: &String| moment(text, context.now).map_err(CliError::usage);
    let (since, until) =
        (args.since.as_ref().map(at).transpose()?, args.until.as_ref().map(at).transpose()?);
    let window = CaptureWindow::new(since, until, context.now)
        .map_err(|empty| CliError::usage(empty.to_string()))?;
    if window.begins_in_the_future() {
        context.terminal.warn(format!(
            "--since is in the future (this clock says {:.3}): only rows that were stored after a window had ended \
             there are exported",
            context.now
        ));
    }
    Ok(window)
}

/// A count of rows in words.
fn rows(count: u64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

/// Warns of rows that are dated in the future: no window shows them until then.
fn warn_of_future_rows(
    context: &CommandContext<'_>,
    store: &Store,
    ws: &WorkspaceId,
) -> Result<(), CliError> {
    let since = context.now.checked_add(CLOCK_SKEW).unwrap_or(Timestamp::MAX);
    let filter = CaptureFilter { since: Some(since), ..CaptureFilter::default() };
    let future = store.count_captures(ws, &filter)?;
    if future > 0 {
        let rows = count(future, "row is", "rows are");
        context
            .terminal
            .warn(format!("{rows} dated in the future and in no window yet: see `gbrain doctor`"));
    }
    Ok(())
}

/// Stdout, or the file of `--output`.
enum Out {
    Stdout(ExternalWriter<std::io::Stdout>),
    File(Box<OutputFile>),
}

impl std::io::Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

/// Where rows go, by way of a buffer.
struct ExportWriter<'a> {
    context: &'a CommandContext<'a>,
    format: ExportFormat,
    out: std::io::BufWriter<Out>,
    line: Vec<u8>,
    rows: u64,
    /// The reader closed the pipe; this is not an error.
    is_closed: bool,
    error: Option<std::io::Error>,
    heard: Instant,
}

impl<'a> ExportWriter<'a> {
    fn new(context: &'a CommandContext<'a>, format: ExportFormat, out: Out) -> Self {
        Self {
            context,
            format,
            out: std::io::BufWriter::with_capacity(1 << 16, out),
            line: Vec::new(),
            rows: 0,
            is_closed: false,
            error: None,
            heard: Instant::now(),
        }
    }

    fn take(&mut self, row: &StoredCapture) -> ControlFlow<()> {
        self.line.clear();
        match self.format {
            ExportFormat::Trec => trec_rows(row, &mut self.line),
            ExportFormat::Ndjson => write_line(row, &mut self.line),
        }
        if let Err(error) = self.out.write_all(&self.line) {
            self.fail(error);
            return ControlFlow::Break(());
        }
        self.rows += 1;
        if self.heard.elapsed() > HEARTBEAT {
            self.heard = Instant::now();
            self.context.terminal.remark(format!("...{} rows", self.rows));
        }
        ControlFlow::Continue(())
    }

    fn fail(&mut self, error: std::io::Error) {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => self.is_closed = true,
            _ => self.error = Some(error),
        }
    }

    /// Whether everything was written; a closed pipe ends quietly.
    fn finish(&mut self) -> Result<bool, CliError> {
        if !self.is_closed
            && self.error.is_none()
            && let Err(error) = self.out.flush()
        {
            self.fail(error);
        }
        match self.error.take() {
            Some(error) => Err(CliError::io("the export", &error)),
            None => Ok(!self.is_closed),
        }
    }

    /// Gives the file of `--output` its name, if it is whole.
    fn close(self, is_whole: bool) -> Result<(), CliError> {
        // `finish` emptied the buffer, so that there is nothing to lose with it.
        match (self.out.into_parts().0, is_whole) {
            (Out::File(file), true) => Ok(file.finish()?),
            (Out::Stdout(stdout), true) => {
                stdout.finish().map_err(|error| CliError::io("the export", &error))
            }
            (_, false) => Ok(()),
        }
    }
}

/// Writes the pages that a row retrieved as lines of a TREC run; the query id is the row's id.
fn trec_rows(row: &StoredCapture, out: &mut Vec<u8>) {
    let extra: Value = serde_json::from_str(&row.fields.extra).unwrap_or_default();
    let pages = extra["retrieved"].as_array().cloned().unwrap_or_default();
    for (place, page) in pages.iter().enumerate() {
        let text = |key: &str| page[key].as_str().unwrap_or_default().to_owned();
        let (source, slug, rank) = (text("source_id"), text("slug"), place + 1);
        // A run is ordered by score: one less for each rank.
        let score = pages.len() - place;
        let line = format!("{} Q0 {source}::{slug} {rank} {score} gbrain\n", row.id);
        out.extend(line.into_bytes());
    }
}
