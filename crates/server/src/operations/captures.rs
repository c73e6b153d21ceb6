//! Exports and prunes captures of remote callers.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use gbrain_brain::capture::{OWNER, private_names};
use gbrain_core::capture::{CaptureWindow, write_line};
use gbrain_core::fault::Fault;
use gbrain_core::report::json::{PRUNE_VERSION, PruneBody, PruneCounts};
use gbrain_core::request::Operation;
use gbrain_store::CaptureFilter;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{OperationCall, Reply};
use crate::wire_timestamp::WireTimestamp;

/// Bytes per chunk of the response.
const CHUNK: usize = 64 << 10;
/// How long a client may take for a chunk before the export is aborted.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Which captures to export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportCaptures {
    /// Stored at or after this time.
    since: Option<WireTimestamp>,
    /// Stored before this time.
    until: Option<WireTimestamp>,
    /// Only this operation: `query` or `search`.
    tool: Option<Operation>,
    /// With a higher id than this.
    after_id: Option<i64>,
    /// At most this many, the newest.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// Which captures to prune.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneCaptures {
    /// Stored before this time.
    until: WireTimestamp,
}

/// Streams captures, newest first, as printed by `gbrain eval export --remote`.
pub(crate) fn export(call: &OperationCall<'_>, input: ExportCaptures) -> Result<Reply, Fault> {
    if input.limit == Some(0) {
        return Err(Fault::usage("`limit` must be at least 1"));
    }
    let (since, until) = (input.since.map(|since| since.0), input.until.map(|until| until.0));
    let CaptureWindow { since, until } = CaptureWindow::new(since, until, call.now)
        .map_err(|empty| Fault::usage(empty.to_string()))?;
    let filter = CaptureFilter {
        since,
        until: Some(until),
        tool: input.tool,
        remote: Some(true),
        after_id: input.after_id,
        limit: input.limit.map(u64::from),
        ..CaptureFilter::default()
    };
    let permit = call.registry.try_acquire_stream();
    let permit = permit.ok_or_else(|| Fault::overloaded("too many exports are running"))?;
    let store = call.registry.share_store();
    let ws = call.principal.workspace.clone();
    // From here on no row can appear in the window: the result is final.
    store.close_captures(&ws, until)?;
    // A captured page may have been made private since.
    let identity = call.registry.suites().identity.map(|key| key.for_workspace(&ws));
    let private = private_names(store.as_ref(), &ws, identity)?;
    let (sender, receiver) = tokio::sync::mpsc::channel(4);
    let runtime = tokio::runtime::Handle::current();
    let send = move |bytes: std::io::Result<Bytes>| {
        let sent =
            runtime.block_on(async { tokio::time::timeout(TIMEOUT, sender.send(bytes)).await });
        matches!(sent, Ok(Ok(())))
    };
    // Streaming takes as long as the client reads, so it runs in its own thread and not on a work
    // queue.
    std::thread::spawn(move || {
        let _permit = permit;
        let mut lines = Vec::with_capacity(CHUNK + 4096);
        let read = store.captures(&ws, &filter, &mut |mut row| {
            private.mask(&mut row);
            write_line(&row, &mut lines);
            if lines.len() < CHUNK {
                return Ok(ControlFlow::Continue(()));
            }
            let is_sent = send(Ok(std::mem::take(&mut lines).into()));
            Ok(if is_sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        match read {
            Ok(()) if lines.is_empty() => {}
            Ok(()) => {
                send(Ok(lines.into()));
            }
            // The body ends without its last chunk, so the client knows that it is incomplete.
            Err(error) => {
                send(Err(std::io::Error::other(error.to_string())));
            }
        }
    });
    Ok(Reply::Lines(receiver))
}

/// Deletes captures of remote callers.
pub(crate) fn prune(call: &OperationCall<'_>, input: PruneCaptures) -> Result<Reply, Fault> {
    let until = input.until.0.min(call.now);
    // `now` means all rows, including those dated in the future.
    let end = (until < call.now).then_some(until);
    let filter = CaptureFilter { until: end, remote: Some(true), ..CaptureFilter::default() };
    let (store, workspace) = (call.registry.store(), &call.principal.workspace);
    let rows = store.prune_captures(workspace, &filter)?;
    let logs = store.prune_live_logs(workspace, end.unwrap_or(Timestamp::MAX), Some(OWNER))?;
    Reply::json(&PruneBody {
        schema_version: PRUNE_VERSION,
        dry_run: false,
        before: format!("{until:.3}"),
        counts: PruneCounts { rows, failures: None, logs: Some(logs) },
    })
}
